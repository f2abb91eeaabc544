//go:build !linux

package main

func preferHugePages(int) {}
