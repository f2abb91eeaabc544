// Package work shares the units of a run among workers.
//
// A run has a stream, which is a queue of units, and a bucket of keys and values, which has its
// record, what was done, what failed and who works. Delivery and storage are those of NATS
// JetStream. The files that qdissect writes are the result; everything here can be lost and made
// again from them.
package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/internal/unitfile"
)

// Tries is how many times a unit is given to workers.
const Tries = 3

// The keys of a bucket begin with these.
const (
	runKey    = "run"
	doneKey   = "done."
	badKey    = "bad."
	workerKey = "worker."
)

// shardsHeader says which shards of a unit are wanted.
const shardsHeader = "Qdissect-Shards"

// A Record describes a run.
type Record struct {
	Host    string        `json:"host"`
	PID     int           `json:"pid"`
	Session string        `json:"session"` // differs with each list of units, and names the consumer that all workers share
	Started time.Time     `json:"started"`
	Seen    time.Time     `json:"seen"`
	Ended   bool          `json:"ended"`
	Dir     string        `json:"dir"` // to which paths are relative
	Out     string        `json:"out"`
	Flags   []string      `json:"flags"`
	Program string        `json:"program"`
	Units   int           `json:"units"` // that were put into the queue
	Before  int           `json:"before"`
	Lost    time.Duration `json:"lost"` // after this time without news a worker is lost
}

// Done is the entry of a unit that is done.
type Done struct {
	unitfile.Outcome
	Flags  []string `json:"flags"`
	Worker string   `json:"worker"`
}

// Bad is the entry of a unit that failed, or that had trouble.
type Bad struct {
	Unit    string   `json:"unit"`
	Error   string   `json:"error,omitempty"`
	Trouble []string `json:"trouble,omitempty"`
	Worker  string   `json:"worker,omitempty"`
	Try     uint64   `json:"try,omitempty"`
}

// State is the entry of a worker.
type State struct {
	Worker string    `json:"worker"`
	Seen   time.Time `json:"seen"`
	Unit   string    `json:"unit,omitempty"` // that it runs
	Since  time.Time `json:"since,omitzero"`
	Done   int       `json:"done"`
	Failed int       `json:"failed"`
	Ended  string    `json:"ended,omitempty"` // why
}

// A queue is the stream and the bucket of a run.
type queue struct {
	conn *nats.Conn
	js   jetstream.JetStream
	name string
	kv   jetstream.KeyValue

	refused atomic.Pointer[error] // why a unit is not in the queue
}

func (q *queue) stream() string  { return "qdissect-work-" + q.name }
func (q *queue) subject() string { return "qdissect.work." + q.name }
func (q *queue) bucket() string  { return "qdissect-" + q.name }
func (q *queue) alive() string   { return "qdissect.run." + q.name } // whoever is in charge answers there

// newQueue returns the queue of the run with a name. The server needs to have neither its stream nor its bucket yet.
func newQueue(conn *nats.Conn, name string, more ...jetstream.JetStreamOpt) (*queue, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return nil, fmt.Errorf("the name of a run is %q: use a to z, digits, - and _", name)
	}
	q := &queue{conn: conn, name: name}
	var err error
	q.js, err = jetstream.New(conn, append(more, jetstream.WithPublishAsyncMaxPending(256), jetstream.WithPublishAsyncTimeout(time.Minute),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { q.refused.Store(&err) }))...)
	return q, err
}

// open finds the bucket of a run.
func (q *queue) open(ctx context.Context) (err error) {
	q.kv, err = q.js.KeyValue(ctx, q.bucket())
	return err
}

// create makes the bucket, if there is none, and an empty queue. Workers that know only an earlier queue can neither take nor acknowledge
// its units.
func (q *queue) create(ctx context.Context, r *Record) (err error) {
	if q.kv, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: q.bucket(), Description: "a run of qdissect-fleet"}); err != nil {
		return err
	}
	if err := q.js.DeleteStream(ctx, q.stream()); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	if _, err := q.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: q.stream(), Subjects: []string{q.subject()}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		Duplicates: 10 * time.Second, // the identifiers of this time are kept in memory
	}); err != nil {
		return err
	}
	_, err = q.js.CreateConsumer(ctx, q.stream(), jetstream.ConsumerConfig{
		Durable: r.Session, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: Tries, AckWait: r.Lost, MaxAckPending: -1,
	})
	return err
}

// forget removes the entries of earlier starts that say what failed and who worked.
func (q *queue) forget(ctx context.Context) error {
	s, err := q.js.Stream(ctx, "KV_"+q.bucket())
	if err != nil {
		return err
	}
	for _, prefix := range []string{badKey, workerKey} {
		if err := s.Purge(ctx, jetstream.WithPurgeSubject("$KV."+q.bucket()+"."+prefix+">")); err != nil {
			return err
		}
	}
	return nil
}

// record returns the record of the run, nil if there is none.
func (q *queue) record(ctx context.Context) (*Record, error) {
	e, err := q.kv.Get(ctx, runKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	r := &Record{}
	return r, json.Unmarshal(e.Value(), r)
}

// put writes an entry.
func (q *queue) put(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = q.kv.Put(ctx, key, b)
	return err
}

// errOther says that a unit has another hash than before.
var errOther = errors.New("the unit has other bytes than before")

// store writes the entry of a unit that is done. If there is one of the same version it must have the same hash, and stays.
func (q *queue) store(ctx context.Context, d *Done) error {
	key := doneKey + keyOf(d.Unit)
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if _, err = q.kv.Create(ctx, key, b); !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	e, err := q.kv.Get(ctx, key)
	if err != nil {
		return err
	}
	var before Done
	switch err := json.Unmarshal(e.Value(), &before); {
	case err == nil && before.Version != d.Version:
		_, err = q.kv.Update(ctx, key, b, e.Revision())
		return err
	case err == nil && before.SHA256 != d.SHA256:
		return fmt.Errorf("%w: SHA-256 %.12s from %s, and %.12s from %s, with the same program, flags and captures", errOther, before.SHA256, before.Worker, d.SHA256, d.Worker)
	default:
		return err
	}
}

// keyOf returns the key of a unit. Folders may have characters that keys cannot have.
func keyOf(unit string) string {
	sum := sha256.Sum256([]byte(unit))
	return hex.EncodeToString(sum[:16])
}

// list returns the entries whose keys begin with a prefix, in the order of what by returns.
func list[T any](ctx context.Context, q *queue, prefix string, by func(*T) string) ([]*T, error) {
	w, err := q.kv.Watch(ctx, prefix+">", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Stop() }() // it ends with the connection
	var all []*T
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e := <-w.Updates():
			if e == nil { // all of them
				slices.SortFunc(all, func(a, b *T) int { return strings.Compare(by(a), by(b)) })
				return all, nil
			}
			v := new(T)
			if err := json.Unmarshal(e.Value(), v); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Key(), err)
			}
			all = append(all, v)
		}
	}
}
