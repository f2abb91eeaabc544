package link

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/qdissect/qdissect/internal/must"
)

// A yard is a folder with a server, certificates and keys.
type yard struct {
	t   *testing.T
	dir string
	ca  *x509.Certificate
	key *ecdsa.PrivateKey
}

func (y *yard) file(name string) string { return filepath.Join(y.dir, name) }

func (y *yard) write(name, text string) string {
	y.t.Helper()
	must.Do(y.t, os.WriteFile(y.file(name), []byte(text), 0o600))
	return y.file(name)
}

// certify makes NAME.pem and NAME.key, signed by the yard, or by itself if it has no certificate yet.
func (y *yard) certify(name string) TLS {
	y.t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(y.t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}},
		IsCA: y.ca == nil, BasicConstraintsValid: true,
	}
	parent, signer := y.ca, y.key
	if y.ca == nil {
		parent, signer, y.ca, y.key = c, key, c, key
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer))(y.t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(y.t)
	return TLS{
		Cert: y.write(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		Key:  y.write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))),
		CA:   y.file("ca.pem"),
	}
}

func (y *yard) user(name string) string {
	y.t.Helper()
	return must.Get(Key(y.file(name)))(y.t)
}

func (y *yard) start(o ServerOptions) *Server {
	y.t.Helper()
	o.Listen, o.Store = "127.0.0.1:0", y.t.TempDir()
	s := must.Get(Start(o))(y.t)
	y.t.Cleanup(s.Stop)
	return s
}

func newYard(t *testing.T) *yard {
	y := &yard{t: t, dir: t.TempDir()}
	y.certify("ca")
	return y
}

// Who connects must be known, by a key and over TLS where the server asks for them.
func TestWhoConnects(t *testing.T) {
	y := newYard(t)
	users := y.write("users", "# those of tonight\n\nwork tonight "+y.user("worker.nk")+"\n")
	y.user("stranger.nk")
	own, client := y.certify("server"), y.certify("client")
	other := newYard(t)
	plain := y.start(ServerOptions{Users: users})
	secret := y.start(ServerOptions{Users: users, TLS: own})
	// The client reads why, or finds the connection closed when it writes, whatever is first.
	const refused = "remote error: tls: |closed by remote after TLS handshake|reset by peer"
	for _, c := range []struct {
		name   string
		to     Options
		reason string // a pattern, "" for none
	}{
		{"a key", Options{URL: plain.URL(), NKey: y.file("worker.nk")}, ""},
		{"no key", Options{URL: plain.URL()}, "Authorization Violation"},
		{"an unknown key", Options{URL: plain.URL(), NKey: y.file("stranger.nk")}, "Authorization Violation"},
		{"a certificate and a key", Options{URL: secret.URL(), NKey: y.file("worker.nk"), TLS: client}, ""},
		{"no certificate", Options{URL: secret.URL(), NKey: y.file("worker.nk"), TLS: TLS{CA: client.CA}}, refused},
		{"the certificate of another", Options{URL: secret.URL(), NKey: y.file("worker.nk"), TLS: TLS{CA: client.CA, Cert: other.file("ca.pem"), Key: other.file("ca.key")}}, refused},
		{"a certificate, but no key", Options{URL: secret.URL(), TLS: client}, "Authorization Violation"},
		{"a server that nobody knows", Options{URL: secret.URL(), NKey: y.file("worker.nk"), TLS: TLS{CA: other.file("ca.pem"), Cert: client.Cert, Key: client.Key}}, "unknown authority"},
		{"TLS to a server without", Options{URL: plain.URL(), NKey: y.file("worker.nk"), TLS: client}, "secure connection not available"},
		{"half a certificate", Options{URL: secret.URL(), TLS: TLS{Cert: client.Cert}}, "need each other"},
		{"no file", Options{URL: plain.URL(), NKey: y.file("none")}, "no such file"},
		{"not a key", Options{URL: plain.URL(), NKey: users}, "users: "},
	} {
		conn, err := c.to.Connect("test", nats.NoReconnect())
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || !regexp.MustCompile(c.reason).MatchString(err.Error())) {
			t.Errorf("%s: %v, want %q", c.name, err, c.reason)
		}
		if conn != nil {
			conn.Close()
		}
	}
	// Secrets are for their owner only.
	must.Do(t, os.Chmod(y.file("worker.nk"), 0o640))
	for _, o := range []Options{{URL: plain.URL(), NKey: y.file("worker.nk")}, {URL: plain.URL(), Creds: y.file("worker.nk")}} {
		if _, err := o.Connect("test"); err == nil || !strings.Contains(err.Error(), "others can read this secret") {
			t.Error(err)
		}
	}
}

// Each role may do what it needs, and nothing of others.
func TestWhoPublishes(t *testing.T) {
	y := newYard(t)
	users := y.write("users", "work tonight "+y.user("work.nk")+"\nrun tonight "+y.user("run.nk")+"\nstatus tonight "+y.user("status.nk")+"\n")
	s := y.start(ServerOptions{Users: users})
	const ack = "$JS.ACK.qdissect-work-tonight.workers.1.1.1.1.0"
	for _, c := range []struct {
		role, subject string
		may           bool
	}{
		{"run", "qdissect.work.tonight", true},
		{"run", "qdissect.work.other", false},
		{"run", "$KV.qdissect-tonight.run", true},
		{"run", "$KV.qdissect-other.run", false},
		{"run", "$JS.API.STREAM.CREATE.qdissect-work-tonight", true},
		{"run", "$JS.API.STREAM.DELETE.qdissect-work-other", false},
		{"run", "$JS.API.STREAM.DELETE.anything", false},
		{"work", ack, true},
		{"work", "$KV.qdissect-tonight.done.x", true},
		{"work", "$KV.qdissect-tonight.bad.x", true},
		{"work", "$KV.qdissect-tonight.worker.x", true},
		{"work", "$KV.qdissect-tonight.run", false},
		{"work", "$KV.qdissect-other.done.x", false},
		{"work", "qdissect.work.tonight", false},
		{"work", "$JS.ACK.qdissect-work-other.workers.1.1.1.1.0", false},
		{"work", "$JS.API.CONSUMER.MSG.NEXT.qdissect-work-tonight.workers", true},
		{"work", "$JS.API.CONSUMER.MSG.NEXT.qdissect-work-other.workers", false},
		{"work", "$JS.API.STREAM.PURGE.qdissect-work-tonight", false},
		{"work", "$JS.API.STREAM.DELETE.qdissect-work-tonight", false},
		{"status", "$JS.API.STREAM.INFO.qdissect-work-tonight", true},
		{"status", "$KV.qdissect-tonight.bad.x", false},
		{"status", "qdissect.work.tonight", false},
		{"status", ack, false},
	} {
		conn := must.Get((&Options{URL: s.URL(), NKey: y.file(c.role + ".nk")}).Connect("test"))(t)
		must.Do(t, errors.Join(conn.Publish(c.subject, nil), conn.Flush()))
		if refused := errors.Is(conn.LastError(), nats.ErrPermissionViolation); refused == c.may {
			t.Errorf("%s publishes to %s: refused is %v", c.role, c.subject, refused)
		}
		conn.Close()
	}
	// Nobody listens to what others are answered, or to the queue.
	conn := must.Get((&Options{URL: s.URL(), NKey: y.file("work.nk")}).Connect("test"))(t)
	defer conn.Close()
	for _, subject := range []string{">", "_INBOX.>", inbox(y.user("run.nk")) + ".>", "qdissect.work.tonight"} {
		sub := must.Get(conn.SubscribeSync(subject))(t)
		must.Do(t, conn.Flush())
		if _, err := sub.NextMsg(50 * time.Millisecond); !errors.Is(err, nats.ErrPermissionViolation) && !errors.Is(conn.LastError(), nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
	}
}

func TestUsersFile(t *testing.T) {
	y := newYard(t)
	key := y.user("u.nk")
	for _, c := range []struct{ text, want string }{
		{"work tonight", ":1: must be a role, a name and a public key"},
		{"# x\nboss tonight " + key, `:2: no role "boss"`},
		{"work a.b " + key, `:1: the name "a.b": use a to z`},
		{"work * " + key, `:1: the name "*": use a to z`},
		{"work tonight " + key + "\nstatus tonight " + key, ":2: this key is in another line already"},
		{"work tonight SUAM", "is not a public key"},
	} {
		_, err := Start(ServerOptions{Listen: "127.0.0.1:0", Store: t.TempDir(), Users: y.write("users", c.text)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, o := range []ServerOptions{
		{Listen: "0.0.0.0:0"},
		{Listen: ":0", Users: y.file("users")},
		{Listen: "[::]:0", TLS: y.certify("server")},
		{Listen: "host.example:0"},
	} {
		if _, err := Start(o); err == nil || !strings.Contains(err.Error(), "needs --users, --tls-cert and --tls-key") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// FuzzUsers: whatever a file of users has, it is refused, or each key may do what the role of its line may, and nothing else.
func FuzzUsers(f *testing.F) {
	f.Add([]byte("# users\nwork run UDR2RSGZM4VJODKWWWNXF3U3IXSRKVV4S6JUDGF4DO2VRKIH3KEDRJZZ\nview wall UCC3GJOWYJKYGKL2VFIBJH72O4LMFKRVVVBO4RQPSY6SEPRIOG3TUFI2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "users")
		must.Do(t, os.WriteFile(name, text, 0o600))
		list, err := readUsers(name)
		if err != nil {
			return
		}
		for _, u := range list {
			for _, subject := range append(u.Permissions.Publish.Allow, u.Permissions.Subscribe.Allow...) {
				if !bytes.Contains(text, []byte(u.Nkey)) || !regexp.MustCompile(`^(qdissect|_INBOX_U|\$(KV\.qdissect-|JS\.(ACK|FC|API)\.))[-\w.*>]*$`).MatchString(subject) {
					t.Errorf("%s: %s", u.Nkey, subject)
				}
			}
		}
	})
}
