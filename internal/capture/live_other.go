//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package capture

import (
	"errors"
	"runtime"
)

func openDevice(string, *LiveOptions, *namespace) (device, error) {
	return nil, errors.New("live capture is not possible on " + runtime.GOOS)
}

func listDevices() ([]Interface, error) { return listNet() }
