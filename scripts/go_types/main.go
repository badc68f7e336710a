// Command go_types prints how the Go types of Kubernetes' API read and write JSON: each struct's fields with their JSON names, Go
// types, and whether an empty value is written. Its output, compressed, is src/shunter/cluster/apiserver/data/go-types.json.gz.
//
// Run it in a module that requires k8s.io/api and k8s.io/apiextensions-apiserver at the served version (now v0.36.3), and
// sigs.k8s.io/jobset (now v0.12.0).
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// A field is [JSON name, shape, "keep" when an empty value is written all the same, names of the embedded structs it is in].
type field []string

var seen = map[string][]field{}

var unmarshaler = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()

// definition is the OpenAPI name of a type: io.k8s.api.core.v1.Pod.
func definition(t reflect.Type) string {
	path := strings.Replace(t.PkgPath(), "sigs.k8s.io/", "io.x-k8s.sigs.", 1)
	return strings.ReplaceAll(strings.Replace(path, "k8s.io/", "io.k8s.", 1), "/", ".") + "." + t.Name()
}

// shape says how a value is read: "*" a pointer, "[" a slice, "{" a map of strings, "@" a struct, "!" a type that decodes itself,
// else a Go kind. A name that reflect would print differently stands before it with "=".
func shape(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return "*" + shape(t.Elem())
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return "!" + t.String()
	}
	name := ""
	if t.Name() != "" && t.PkgPath() != "" && t.Kind() != reflect.Struct {
		name = t.String() + "="
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return name + "bytes"
		}
		return name + "[" + shape(t.Elem())
	case reflect.Map:
		return name + "{" + shape(t.Elem())
	case reflect.Struct:
		walk(t)
		return "@" + definition(t)
	default:
		return name + t.Kind().String()
	}
}

func fields(t reflect.Type) []field {
	out := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			for _, inner := range fields(f.Type) {
				inner[3] = strings.Trim(f.Name+"."+inner[3], ".")
				out = append(out, inner)
			}
			continue
		}
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		item := field{name, shape(f.Type), "", ""}
		isStruct := f.Type.Kind() == reflect.Struct
		if !strings.Contains(options, "omitzero") && (isStruct || !strings.Contains(options, "omitempty")) {
			item[2] = "keep"
		}
		out = append(out, item)
	}
	return out
}

func walk(t reflect.Type) {
	if _, ok := seen[definition(t)]; !ok {
		seen[definition(t)] = nil
		seen[definition(t)] = fields(t)
	}
}

func main() {
	for _, v := range []any{
		corev1.Pod{}, corev1.PodTemplate{}, corev1.Service{}, corev1.ConfigMap{}, corev1.Secret{}, corev1.ServiceAccount{}, corev1.Namespace{}, corev1.Node{},
		corev1.Event{}, corev1.PersistentVolume{}, corev1.PersistentVolumeClaim{}, corev1.ResourceQuota{}, corev1.LimitRange{}, corev1.Endpoints{}, corev1.ReplicationController{},
		corev1.Binding{}, policyv1.Eviction{}, corev1.PodExecOptions{}, autoscalingv1.Scale{},
		batchv1.Job{}, batchv1.CronJob{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{}, appsv1.DaemonSet{}, appsv1.ControllerRevision{},
		autoscalingv1.HorizontalPodAutoscaler{}, autoscalingv2.HorizontalPodAutoscaler{}, policyv1.PodDisruptionBudget{}, discoveryv1.EndpointSlice{}, eventsv1.Event{}, coordinationv1.Lease{},
		certificatesv1.CertificateSigningRequest{}, networkingv1.Ingress{}, networkingv1.IngressClass{}, networkingv1.NetworkPolicy{}, nodev1.RuntimeClass{}, rbacv1.Role{}, rbacv1.RoleBinding{}, rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{},
		schedulingv1.PriorityClass{}, storagev1.StorageClass{}, storagev1.VolumeAttachment{}, storagev1.CSIDriver{}, storagev1.CSINode{},
		admissionregistrationv1.MutatingWebhookConfiguration{}, admissionregistrationv1.ValidatingWebhookConfiguration{}, admissionregistrationv1.ValidatingAdmissionPolicy{}, admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, admissionregistrationv1.MutatingAdmissionPolicy{}, admissionregistrationv1.MutatingAdmissionPolicyBinding{}, apiextensionsv1.CustomResourceDefinition{},
		authenticationv1.TokenRequest{}, authenticationv1.TokenReview{}, authenticationv1.SelfSubjectReview{}, authorizationv1.SubjectAccessReview{}, authorizationv1.SelfSubjectAccessReview{},
		authorizationv1.LocalSubjectAccessReview{}, authorizationv1.SelfSubjectRulesReview{},
		metav1.DeleteOptions{}, metav1.Status{}, jobsetv1alpha2.JobSet{},
	} {
		walk(reflect.TypeOf(v))
	}
	names := slices.Sorted(maps.Keys(seen))
	fmt.Println("{")
	for i, name := range names {
		line, err := json.Marshal(seen[name])
		if err != nil {
			panic(err)
		}
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Printf("%q: %s%s\n", name, line, comma)
	}
	fmt.Println("}")
}
