package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/nettext"
)

// webOptions are the flags of web.
type webOptions struct{ site, listen string }

func newWeb(env environment) *cobra.Command {
	var o webOptions
	cmd := &cobra.Command{
		Use:   "web [FILE...]",
		Short: "Look at captures in a browser: report, messages, fields and bytes",
		Long: `Serve the site of qdissect on this machine, with captures opened in it. The browser
reads them; nothing leaves the machine. The site is one page, which also works alone:
docs/web.md says how it is built and hosted.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(args, env) },
	}
	cmd.Flags().StringVar(&o.site, "site", "", "the page of the site (default: web/index.html beside the program, or in the share folder beside it)")
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "address of this machine to listen on; port 0 means any free port")
	return cmd
}

// page returns the page of the site, with the captures in it.
func (o *webOptions) page(files []string) ([]byte, error) {
	places := []string{o.site}
	if self, err := os.Executable(); o.site == "" && err == nil {
		places = []string{filepath.Join(filepath.Dir(self), "web", "index.html"), filepath.Join(filepath.Dir(self), "..", "share", "qdissect", "web", "index.html")}
	}
	for _, place := range places {
		b, err := os.ReadFile(place)
		if errors.Is(err, fs.ErrNotExist) && o.site == "" {
			continue
		} else if err != nil {
			return nil, err
		}
		list, err := json.Marshal(append([]string{}, nettext.Each(files, filepath.Base)...))
		// The page may ask its own server, for the captures and for nothing else.
		b = bytes.Replace(b, []byte("default-src 'none';"), []byte("default-src 'none'; connect-src 'self';"), 1)
		return bytes.Replace(b, []byte(`id="preload">[]`), []byte(`id="preload">`+string(list)), 1), err
	}
	return nil, errors.New("the site is not beside the program; --site names its index.html, which make web builds")
}

func (o *webOptions) run(files []string, env environment) error {
	for _, f := range files {
		if st, err := os.Stat(f); err != nil {
			return err
		} else if !st.Mode().IsRegular() {
			return fmt.Errorf("%s: not a regular file", f)
		}
	}
	page, err := o.page(files)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		out.Header().Set("Cache-Control", "no-store")
		out.Write(page)
	})
	mux.HandleFunc("GET /capture/{number}", func(out http.ResponseWriter, in *http.Request) {
		n, err := strconv.Atoi(in.PathValue("number"))
		if err != nil || n < 0 || n >= len(files) {
			http.NotFound(out, in)
			return
		}
		_ = http.NewResponseController(out).SetWriteDeadline(time.Time{}) // it may be large
		out.Header().Set("Content-Type", "application/octet-stream")
		out.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		http.ServeFile(out, in, files[n])
	})
	server, at, err := listen("--listen", o.listen, mux)
	if err != nil {
		return err
	}
	defer server.Close()
	if !at.(*net.TCPAddr).IP.IsLoopback() {
		return errors.New("--listen: the captures are for this machine: use a loopback address, or host the site")
	}
	fmt.Fprintf(env.out, "http://%s/\n", at)
	stop, done := interrupted(context.Background())
	defer done()
	<-stop.Done()
	return nil
}
