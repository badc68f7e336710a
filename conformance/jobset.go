package main

import (
	"crypto/tls"
	"net/http"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetcontrollers "sigs.k8s.io/jobset/pkg/controllers"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"
)

// jobSetOptions says where JobSet's controller and webhooks run; JobSet's own command wants a Service and a configuration file for it.
type jobSetOptions struct {
	kubeconfig  string
	healthProbe string
	webhookHost string
	webhookPort int
	certDir     string
	qps         float32
}

func newJobSetCommand() *cobra.Command {
	var options jobSetOptions
	command := &cobra.Command{
		Use:          "jobset",
		Short:        "JobSet's controllers and admission webhooks",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return runJobSet(options) },
	}
	flags := command.Flags()
	flags.StringVar(&options.kubeconfig, "kubeconfig", "", "the API server to work on")
	flags.StringVar(&options.healthProbe, "health-probe-bind-address", "0", "HOST:PORT of /healthz and /readyz")
	flags.StringVar(&options.webhookHost, "webhook-host", "127.0.0.1", "address of the admission webhooks")
	flags.IntVar(&options.webhookPort, "webhook-port", 9443, "port of the admission webhooks")
	flags.StringVar(&options.certDir, "webhook-cert-dir", "", "holds tls.crt and tls.key of the admission webhooks")
	flags.Float32Var(&options.qps, "kube-api-qps", 500, "requests a second to the API server, and the burst")
	return command
}

func runJobSet(options jobSetOptions) error {
	ctrl.SetLogger(klog.Background())
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, jobset.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", options.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = options.qps, int(options.qps)
	webhookServer := webhook.NewServer(webhook.Options{
		Host:    options.webhookHost,
		Port:    options.webhookPort,
		CertDir: options.certDir,
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	})
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: options.healthProbe,
		WebhookServer:          webhookServer,
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if err := jobsetcontrollers.SetupJobSetIndexes(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobsetcontrollers.SetupPodIndexes(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	client, events := manager.GetClient(), manager.GetEventRecorder
	if err := jobsetcontrollers.NewJobSetReconciler(client, scheme, events("jobset")).SetupWithManager(manager); err != nil {
		return err
	}
	if err := jobsetcontrollers.NewPodReconciler(client, scheme, events("pod")).SetupWithManager(manager); err != nil {
		return err
	}
	if err := jobsetwebhooks.Setup(manager); err != nil {
		return err
	}
	ready := func(request *http.Request) error { return webhookServer.StartedChecker()(request) }
	if err := manager.AddReadyzCheck("readyz", ready); err != nil {
		return err
	}
	return manager.Start(ctx)
}
