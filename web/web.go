// Package web holds the parts of the site: a page on which visitors look at captures in their browser. internal/tools/mksite puts them
// together with the program, which is in the folder of that name.
package web

import "embed"

// Parts are the page, which has places for the others, its style and its scripts.
//
//go:embed *.html *.css *.js
var Parts embed.FS
