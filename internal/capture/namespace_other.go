//go:build !linux

package capture

import "errors"

type namespace struct{}

func openNamespace(name string) (*namespace, error) {
	if name == "" {
		return nil, nil
	}
	return nil, errors.New("only Linux has network namespaces")
}

func (*namespace) do(f func() error) error { return f() }

func (*namespace) close() {}
