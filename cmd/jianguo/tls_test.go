package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"jianguo/internal/testbed"
)

// certificate writes a certificate for this machine that signs itself, with its key, and
// returns a pool that trusts it.
func certificate(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testbed.OK(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	testbed.OK(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	testbed.OK(t, err)
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		testbed.OK(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	parsed, err := x509.ParseCertificate(der)
	testbed.OK(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// jianguo runs a command of the binary and returns what it prints.
func (s *process) jianguo(args ...string) string {
	s.t.Helper()
	out, err := exec.Command(s.binary, args...).Output()
	if err != nil {
		s.t.Fatalf("jianguo %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestTLS: HTTP and the bus speak TLS. SIGHUP changes certificate and tokens without a
// restart: connections stay, those of a revoked token end, on HTTP, on the bus and in the
// console. Commands on the data directory reach the bus.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, cert, key := filepath.Join(dir, "tokens"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	s := newProcess(t, binary(t), filepath.Join(dir, "data"), "--nats-listen", "127.0.0.1:0", "--tokens", tokens, "--tls-cert", cert, "--tls-key", key, "--log-level", "warn")
	platform := s.jianguo("token", "add", "--tokens", tokens, "shop", "platform")
	editor := s.jianguo("token", "add", "--tokens", tokens, "张三", "editor")
	roots := certificate(t, cert, key)
	s.start()
	jar, err := cookiejar.New(nil)
	testbed.OK(t, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Jar: jar, Timeout: patience}
	do := func(method, path, token, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.address.HTTP+path, strings.NewReader(body))
		testbed.OK(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		} else if body != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, s.log)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		testbed.OK(t, err)
		return res.StatusCode, string(answer)
	}
	if !strings.HasPrefix(s.address.HTTP, "https://") {
		t.Fatalf("the service announces %q", s.address.HTTP)
	}
	s.eventually("ready", func() bool { status, _ := do("GET", "/readyz", "", ""); return status == 200 })
	if out := s.jianguo("health", "--ready", "--data", s.data); !strings.Contains(out, `"ready":true`) {
		t.Errorf("health over TLS: %s", out)
	}
	if status, answer := do("POST", "/items", platform, string(article(1))); status != 200 {
		t.Errorf("an item over TLS: %d %s", status, answer)
	}
	if status, _ := do("POST", "/items", platform+"x", string(article(1))); status != 401 {
		t.Errorf("a wrong token: %d", status)
	}
	if status, answer := do("POST", "/console/signin", "", url.Values{"token": {editor}, "to": {"/console/suspects"}}.Encode()); status != 200 || !strings.Contains(answer, "张三") {
		t.Errorf("signing in: %d %.300s", status, answer)
	}
	bus, err := nats.Connect(s.address.NATS, nats.Token(platform), nats.Secure(&tls.Config{RootCAs: roots}))
	testbed.OK(t, err)
	defer bus.Close()
	stays, err := nats.Connect(s.address.NATS, nats.Token(s.address.Token), nats.Secure(&tls.Config{RootCAs: roots}), nats.NoReconnect())
	testbed.OK(t, err)
	defer stays.Close()
	if plain, err := nats.Connect(s.address.NATS, nats.Token(platform), nats.Secure(&tls.Config{RootCAs: x509.NewCertPool()})); err == nil {
		plain.Close()
		t.Error("a client that does not know the certificate has connected")
	}
	if out := s.jianguo("dead", "--data", s.data, "list"); strings.Contains(out, "n1") {
		t.Errorf("dead letters: %s", out)
	}

	certificate(t, cert, key) // another one
	s.jianguo("token", "revoke", "--tokens", tokens, "shop")
	recall := s.jianguo("token", "add", "--tokens", tokens, "engine", "recall")
	s.signal(syscall.SIGHUP)
	s.eventually("the new token works", func() bool {
		status, _ := do("POST", "/filter", recall, `{"user":"u","items":["a"]}`)
		return status == 200
	})
	if status, _ := do("POST", "/items", platform, string(article(2))); status != 401 {
		t.Errorf("a revoked token: %d", status)
	}
	s.eventually("the bus lets the revoked token go", func() bool { return !bus.IsConnected() })
	if err := stays.Flush(); err != nil {
		t.Errorf("another connection to the bus: %v", err)
	}
	if status, answer := do("GET", "/console/suspects", "", ""); status != 200 || !strings.Contains(answer, "张三") {
		t.Errorf("the session of another token: %d", status)
	}
	s.jianguo("token", "revoke", "--tokens", tokens, "张三")
	s.signal(syscall.SIGHUP)
	s.eventually("the session of a revoked token ends", func() bool {
		_, answer := do("GET", "/console/suspects", "", "")
		return !strings.Contains(answer, "张三")
	})
	client.CloseIdleConnections()
	if _, err := client.Get(s.address.HTTP + "/healthz"); err == nil {
		t.Error("a new connection has the certificate of before")
	}
	s.jianguo("dead", "--data", s.data, "list")
	s.signal(syscall.SIGHUP) // nothing to do
	s.stop()
}

// TestSignIns: guesses are bounded and logged; a token in an address is refused; a
// signed-out cookie is worth nothing; behind https the cookie is Secure.
func TestSignIns(t *testing.T) {
	t.Parallel()
	file, editor := tokenFile(t, "editor")
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--tokens", file)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: patience}
	do := func(method, path string, form url.Values, cookie *http.Cookie) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.address.HTTP+path, strings.NewReader(form.Encode()))
		testbed.OK(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("X-Forwarded-Proto", "https") // from a proxy on loopback
		if cookie != nil {
			req.AddCookie(cookie)
		}
		res, err := client.Do(req)
		testbed.OK(t, err)
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		testbed.OK(t, err)
		return res, string(answer)
	}
	if res, _ := do("POST", "/console/signin?token="+editor, url.Values{}, nil); res.StatusCode != 400 || len(res.Cookies()) > 0 {
		t.Errorf("a token in the address: %d %v", res.StatusCode, res.Cookies())
	}
	res, _ := do("POST", "/console/signin", url.Values{"token": {editor}}, nil)
	if res.StatusCode != 303 || len(res.Cookies()) != 1 || !res.Cookies()[0].Secure {
		t.Fatalf("signing in behind https: %d %v", res.StatusCode, res.Cookies())
	}
	cookie := res.Cookies()[0]
	res, page := do("GET", "/console/suspects", nil, cookie)
	_, form, _ := strings.Cut(page, `name="form" value="`)
	form, _, _ = strings.Cut(form, `"`)
	if res.StatusCode != 200 || form == "" {
		t.Fatalf("signed in: %d %.200s", res.StatusCode, page)
	}
	if res, _ := do("POST", "/console/signout", url.Values{"form": {form}}, cookie); res.StatusCode != 303 {
		t.Errorf("signing out: %d", res.StatusCode)
	}
	if res, _ := do("GET", "/console/suspects", nil, cookie); res.StatusCode != 303 {
		t.Errorf("the cookie of a session that was signed out: %d", res.StatusCode)
	}
	refused := 0
	for range 300 {
		if res, _ := do("POST", "/console/signin", url.Values{"token": {"wrong-0123456789abcdef"}}, nil); res.StatusCode == 429 && res.Header.Get("Retry-After") != "" {
			refused++
		}
	}
	if logged := strings.Count(s.log.String(), "a sign-in with an unknown token"); refused < 200 || logged < 10 || logged > 100 {
		t.Errorf("of 300 guesses %d were refused, %d logged", refused, logged)
	}
	if status := s.as(editor, "GET", "/suspects", ""); status != 200 {
		t.Errorf("the token in use, after guesses from its address: %d", status)
	}
	s.stop()
}

// from is a connection that seems to come from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return address(f.address) }

func (f from) LocalAddr() net.Addr { return address("10.0.0.2:443") }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// TestClientCertificates: with --tls-client-ca, clients of other machines need a
// certificate, and those of this machine do not.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, other, otherKey := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "other"), filepath.Join(dir, "other-key")
	roots := certificate(t, cert, key)
	certificate(t, other, otherKey)
	certs, err := openCertificates(cert, key, cert)
	testbed.OK(t, err)
	pair := func(cert, key string) []tls.Certificate {
		p, err := tls.LoadX509KeyPair(cert, key)
		testbed.OK(t, err)
		return []tls.Certificate{p}
	}
	for _, c := range []struct {
		from   string
		client []tls.Certificate
		may    bool
	}{
		{"10.0.0.1:5", nil, false}, {"10.0.0.1:5", pair(other, otherKey), false}, {"10.0.0.1:5", pair(cert, key), true}, {"127.0.0.1:5", nil, true}, {"[::1]:5", nil, true},
		{"10.0.0.2:5", nil, true}, // the service's own address: jianguo health
	} {
		ours, theirs := net.Pipe()
		done := make(chan error, 1)
		go func() {
			server := tls.Server(from{ours, c.from}, certs.config())
			done <- server.HandshakeContext(t.Context())
			server.Close()
		}()
		client := tls.Client(theirs, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", Certificates: c.client})
		_ = client.HandshakeContext(t.Context()) // with TLS 1.3 only the server knows
		_, _ = client.Read(make([]byte, 1))      // an alert, or the end
		if err := <-done; (err == nil) != c.may {
			t.Errorf("from %s with %d certificates: %v", c.from, len(c.client), err)
		}
		theirs.Close()
	}
	for _, files := range [][3]string{{cert, "", ""}, {"", "", cert}, {cert, otherKey, ""}, {cert, key, key}} {
		if _, err := openCertificates(files[0], files[1], files[2]); err == nil || !strings.Contains(err.Error(), "--tls-") {
			t.Errorf("%v: %v", files, err)
		}
	}
}

// An external bus that speaks TLS only and asks for a certificate lets the service in with both
// flags, and so its commands; without them the start ends.
func TestBusTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	pool := certificate(t, cert, key)
	pair, err := tls.LoadX509KeyPair(cert, key)
	testbed.OK(t, err)
	b := startBroker(t, func(o *server.Options) {
		o.TLS, o.TLSVerify = true, true
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
		o.TLSTimeout = 5
	})
	data := filepath.Join(dir, "data")
	trust := []string{"--nats", b.url(), "--nats-ca", cert, "--nats-cert", cert, "--nats-key", key}
	s := serveReady(t, binary(t), data, trust...)
	s.publish(1)
	if out, err := exec.Command(s.binary, append([]string{"dead", "list"}, trust...)...).CombinedOutput(); err != nil {
		t.Errorf("dead list: %v %s", err, out)
	}
	s.stop()
	fails(t, s.binary, "certificate", "serve", "--data", data, "--listen", "127.0.0.1:0", "--nats", b.url())
	fails(t, s.binary, "--nats-key", append([]string{"serve", "--data", data}, trust[:6]...)...)
}
