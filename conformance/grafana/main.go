// Reads a dashboard by Grafana's own types, as Grafana's foundation SDK has them, and names each field that they do not know, that
// is missing or that has a wrong type; exits with 1 then.
//
//	go run . DASHBOARD.json
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins() // panels and queries have the types of their plugins
	var found dashboard.Dashboard
	if err := fault(found.UnmarshalJSONStrict(text)); err != nil {
		return err
	}
	return fault(found.Validate())
}

// fault is nil for the SDK's empty list of errors, which as an error is not.
func fault(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}
