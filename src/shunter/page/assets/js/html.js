/** Preact and htm, imported here for all modules. Values become text nodes, never markup. */
import { Component, Fragment, h, render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import htm from "htm";

/** @typedef {import("preact").ComponentChildren} Children */

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(/** @type {any} */ (h));
export { Component, Fragment, render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };
