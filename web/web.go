// Package web holds the parts of the site: a page on which visitors look at captures in their browser. internal/tools/mksite puts them
// together with the program, which is in the folder of that name.
package web

import _ "embed" // for the parts

// The parts: Page has places for the others.
var (
	//go:embed index.html
	Page string
	//go:embed app.css
	Style string
	//go:embed app.js
	Script string
	//go:embed worker.js
	Worker string
	//go:embed unpack.js
	Unpack string
)
