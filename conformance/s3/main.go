// Command s3server is the S3 server versitygw, keeping objects as files of a directory, for tests.
//
//	s3server ADDRESS DIRECTORY
//
// The account root (its secret is root) may do everything. Others stand in DIRECTORY/users.json, in versitygw's own form; what they
// may do, bucket policies say. It ends at the end of its standard input, so that it never outlives who started it.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

const (
	region = "us-east-1"
	// S3's own limits: of a copied object in bytes, of an upload in parts. versitygw sets them in its command, not in its libraries.
	largestCopy = 5 << 30
	mostParts   = 10_000
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: s3server ADDRESS DIRECTORY")
		os.Exit(2)
	}
	go endWithStarter()
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "s3server: %v\n", err)
		os.Exit(1)
	}
}

func endWithStarter() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func serve(address, directory string) error {
	// versitygw takes a relative attributes directory for one within the objects directory.
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	objects, attributes := filepath.Join(directory, "objects"), filepath.Join(directory, "attributes")
	for _, made := range []string{objects, attributes} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return err
		}
	}
	// Beside the objects, as not every file system has extended attributes.
	metadata, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	backend, err := posix.New(objects, metadata, posix.PosixOpts{SideCarDir: attributes, CopyObjectThreshold: largestCopy})
	if err != nil {
		return err
	}
	root := auth.Account{Access: "root", Secret: "root", Role: auth.RoleAdmin}
	accounts, err := auth.NewInternal(root, directory)
	if err != nil {
		return err
	}
	server, err := s3api.New(
		backend,
		middlewares.RootUserConfig{Access: root.Access, Secret: root.Secret},
		region,
		accounts,
		nil, nil, nil, nil, // no logs for audits, no events, no metrics
		s3api.WithHealth("/health"),
		s3api.WithKeepAlive(),
		s3api.WithMpMaxParts(mostParts),
		s3api.WithConcurrencyLimiter(1000, 1000),
	)
	if err != nil {
		return err
	}
	return server.ServeMultiPort([]string{address})
}
