// Package all lists the protocols of this module and describes foreign traffic.
package all

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/armagetron"
	"github.com/qdissect/qdissect/dissect/ase"
	"github.com/qdissect/qdissect/dissect/assettocorsa"
	"github.com/qdissect/qdissect/dissect/battleye"
	"github.com/qdissect/qdissect/dissect/bzflag"
	"github.com/qdissect/qdissect/dissect/chocolatedoom"
	"github.com/qdissect/qdissect/dissect/cs2d"
	"github.com/qdissect/qdissect/dissect/cube"
	"github.com/qdissect/qdissect/dissect/doom3"
	"github.com/qdissect/qdissect/dissect/frostbite"
	"github.com/qdissect/qdissect/dissect/gamespy1"
	"github.com/qdissect/qdissect/dissect/gamespy2"
	"github.com/qdissect/qdissect/dissect/gamespy3"
	"github.com/qdissect/qdissect/dissect/halflife"
	"github.com/qdissect/qdissect/dissect/internal/foreign"
	"github.com/qdissect/qdissect/dissect/lhmp"
	"github.com/qdissect/qdissect/dissect/m2mp"
	"github.com/qdissect/qdissect/dissect/mindustry"
	"github.com/qdissect/qdissect/dissect/minecraft"
	"github.com/qdissect/qdissect/dissect/minecraftjava"
	"github.com/qdissect/qdissect/dissect/mumble"
	"github.com/qdissect/qdissect/dissect/netquake"
	"github.com/qdissect/qdissect/dissect/odamex"
	"github.com/qdissect/qdissect/dissect/openttd"
	"github.com/qdissect/qdissect/dissect/quake2"
	"github.com/qdissect/qdissect/dissect/quake2master"
	"github.com/qdissect/qdissect/dissect/quake3"
	"github.com/qdissect/qdissect/dissect/quake3master"
	"github.com/qdissect/qdissect/dissect/quakeworld"
	"github.com/qdissect/qdissect/dissect/quakeworldmaster"
	"github.com/qdissect/qdissect/dissect/raknet"
	"github.com/qdissect/qdissect/dissect/rfactor"
	"github.com/qdissect/qdissect/dissect/samp"
	"github.com/qdissect/qdissect/dissect/satisfactory"
	"github.com/qdissect/qdissect/dissect/savage"
	"github.com/qdissect/qdissect/dissect/savage2"
	"github.com/qdissect/qdissect/dissect/sourcercon"
	"github.com/qdissect/qdissect/dissect/sqp"
	"github.com/qdissect/qdissect/dissect/teamspeak3"
	"github.com/qdissect/qdissect/dissect/teeworlds"
	"github.com/qdissect/qdissect/dissect/titanfall"
	"github.com/qdissect/qdissect/dissect/tribes"
	"github.com/qdissect/qdissect/dissect/unreal2"
	"github.com/qdissect/qdissect/dissect/valvemaster"
	"github.com/qdissect/qdissect/dissect/ventrilo"
	"github.com/qdissect/qdissect/dissect/xash3d"
	"github.com/qdissect/qdissect/dissect/zandronum"
)

// Protocols returns all protocols. The order resolves ties.
func Protocols() []*dissect.Protocol {
	return []*dissect.Protocol{
		a2s.Protocol(),
		halflife.Protocol(),
		xash3d.Protocol(),
		valvemaster.Protocol(),
		doom3.Protocol(),
		gamespy1.Protocol(),
		gamespy2.Protocol(),
		minecraft.Protocol(), // before gamespy3: far more servers speak it today
		gamespy3.Protocol(),
		ase.Protocol(),
		quake3.Protocol(),
		quake3master.Protocol(),
		minecraftjava.Protocol(),
		sourcercon.Protocol(),
		frostbite.Protocol(),
		mumble.Protocol(),
		teamspeak3.Protocol(),
		zandronum.Protocol(),
		odamex.Protocol(),
		ventrilo.Protocol(),
		tribes.Protocol(),
		savage.Protocol(),
		savage2.Protocol(),
		rfactor.Protocol(),
		assettocorsa.Protocol(),
		chocolatedoom.Protocol(),
		satisfactory.Protocol(),
		armagetron.Protocol(),
		cs2d.Protocol(),
		cube.Protocol(),
		bzflag.Protocol(),
		titanfall.Protocol(),
		lhmp.Protocol(),
		m2mp.Protocol(),
		unreal2.Protocol(),
		raknet.Protocol(),
		quakeworld.Protocol(),
		quakeworldmaster.Protocol(),
		quake2.Protocol(),
		quake2master.Protocol(),
		teeworlds.Protocol(),
		openttd.Protocol(),
		samp.Protocol(),
		sqp.Protocol(),
		netquake.Protocol(),
		battleye.Protocol(),
		mindustry.Protocol(),
	}
}

// Foreign describes traffic that often occurs beside these protocols.
func Foreign() *dissect.Foreign { return &dissect.Foreign{Name: foreign.Name, Login: foreign.Login} }
