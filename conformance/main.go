// Command controlplane is a Kubernetes control plane in one program; its first argument says which part of it to be.
//
// The parts are the released ones, linked as Go modules: this program adds nothing to them but the way to start and to end.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// tether is the descriptor of a pipe whose other end the starter holds, where the environment variable of that name is set.
const tether = "CONTROLPLANE_TETHER"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler|jobset [FLAG...]")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = os.Args[1:]
	if os.Getenv(tether) != "" {
		go endWithStarter()
	}
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "jobset":
		os.Exit(cli.Run(newJobSetCommand()))
	default:
		fmt.Fprintf(os.Stderr, "controlplane has no part %q\n", part)
		os.Exit(2)
	}
}

// endWithStarter ends this process as soon as the process that holds the other end of the tether is gone, however it went.
func endWithStarter() {
	var descriptor uintptr
	if _, err := fmt.Sscan(os.Getenv(tether), &descriptor); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", tether, err)
		os.Exit(2)
	}
	_, _ = os.NewFile(descriptor, "tether").Read(make([]byte, 1))
	os.Exit(1)
}
