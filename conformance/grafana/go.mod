module shunter.dev/conformance/grafana

go 1.26

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
