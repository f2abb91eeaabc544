package link

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// roles are what those who connect may do, by the word in the file of users. Each has the name
// that follows it there: that of a run, or of a sensor. Everybody may receive answers.
var roles = map[string]func(name string) *server.Permissions{
	"run": func(name string) *server.Permissions {
		queue, bucket := "qdissect-work-"+name, "qdissect-"+name
		list := []string{"$JS.API.INFO", "qdissect.work." + name, "$KV." + bucket + ".>", "$JS.ACK." + queue + ".>", "$JS.FC.>"}
		for _, stream := range []string{queue, "KV_" + bucket} {
			list = append(list, "$JS.API.STREAM.*."+stream, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.CONSUMER.*."+stream+".>",
				"$JS.API.CONSUMER.MSG.NEXT."+stream+".>", "$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>")
		}
		p := publish(append(list, "qdissect.run."+name)...)
		p.Subscribe.Allow = []string{"qdissect.run." + name}
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		return p
	},
	"work": func(name string) *server.Permissions {
		queue, bucket := "qdissect-work-"+name, "qdissect-"+name
		return publish("$KV."+bucket+".done.>", "$KV."+bucket+".bad.>", "$KV."+bucket+".worker.>",
			"$JS.API.STREAM.INFO.KV_"+bucket, "$JS.API.STREAM.MSG.GET.KV_"+bucket, "$JS.API.DIRECT.GET.KV_"+bucket, "$JS.API.DIRECT.GET.KV_"+bucket+".>",
			"$JS.API.CONSUMER.INFO."+queue+".workers", "$JS.API.CONSUMER.MSG.NEXT."+queue+".workers", "$JS.ACK."+queue+".workers.>")
	},
	"status": func(name string) *server.Permissions {
		queue, bucket := "qdissect-work-"+name, "qdissect-"+name
		return publish("$JS.API.STREAM.INFO."+queue, "$JS.API.STREAM.INFO.KV_"+bucket, "$JS.API.STREAM.MSG.GET.KV_"+bucket,
			"$JS.API.DIRECT.GET.KV_"+bucket, "$JS.API.DIRECT.GET.KV_"+bucket+".>", "$JS.API.CONSUMER.*.KV_"+bucket+".>", "$JS.FC.>")
	},
	// A sensor publishes its own counts and status, and answers who asks it for packets.
	"sensor": func(name string) *server.Permissions {
		p := publish("qdissect.sensor." + name + ".>")
		p.Subscribe.Allow = []string{"qdissect.fetch." + name}
		p.Response = &server.ResponsePermission{MaxMsgs: 4096, Expires: 5 * time.Minute}
		return p
	},
	// A view reads what all sensors have published.
	"view": func(string) *server.Permissions {
		const stream = "qdissect-sensors"
		return publish("$JS.API.STREAM.INFO."+stream, "$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.INFO."+stream+".>",
			"$JS.API.CONSUMER.DELETE."+stream+".>", "$JS.API.CONSUMER.MSG.NEXT."+stream+".>")
	},
	// Who fetches packets asks sensors for them, and acknowledges each piece.
	"fetch": func(string) *server.Permissions {
		p := publish("qdissect.fetch.*")
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		return p
	},
}

// publish permits to publish to subjects, and nothing else.
func publish(subjects ...string) *server.Permissions {
	return &server.Permissions{Publish: &server.SubjectPermission{Allow: subjects}, Subscribe: &server.SubjectPermission{}}
}

// inbox is where the user with a public key receives answers. Nobody else may listen there.
func inbox(public string) string { return "_INBOX_" + public }
