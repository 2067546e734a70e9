# The interface between the two processes of this workload: what the race needs, and no more.
@0xa6f0b91c53e2d847;

using Cxx = import "/capnp/c++.capnp";
using Proxy = import "/mp/proxy.capnp";

$Proxy.include("teardown.h");
$Proxy.includeTypes("teardown-types.h");

interface TeardownInterface $Proxy.wrap("Teardown") {
    construct @0 (threadMap :Proxy.ThreadMap) -> (threadMap :Proxy.ThreadMap);
    ping @1 (context :Proxy.Context, value :Int32) -> (result :Int32);
    die @2 (context :Proxy.Context) -> ();
}
