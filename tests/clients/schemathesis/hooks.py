"""What is generated names, half of the time, what the sample newsroom has: nothing can be found out about what is not there."""

import zlib

import schemathesis

SAMPLE = [
    ("/v3/container/drawer/{source}", ["/Drawers/city-desk"]),
    ("/v3/container/liveblog/{source}", ["/LiveBlogs/council-night", "/LiveBlogs/saturday-match"]),
    ("/v3/container/liveblog/from", ["/SysConfig/Product/Shared/Templates/Default/liveblog.xml"]),
    ("/v3/folder/", ["/News", "/News/City"]),
    ("/v3/object/", ["/News/City/harbour-ferry.xml", "/Drawers/city-desk", "/News/City"]),
]
OBJECTS = ["/News/City/harbour-ferry.xml", "/News/City", "/LiveBlogs/council-night"]


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not path_parameters:
        return path_parameters
    # The same values lead to the same choice, so that what is found can be found again.
    chance = zlib.crc32(repr(sorted(path_parameters.items())).encode())
    if chance % 2:
        return path_parameters
    known = next((known for path, known in SAMPLE if context.operation.path.startswith(path)), OBJECTS)
    chosen = dict(path_parameters)
    for name in chosen:
        if name == "source":
            chosen[name] = known[chance // 2 % len(known)]
        elif name in ("item", "shortcut"):
            chosen[name] = OBJECTS[chance // 2 % len(OBJECTS)]
        elif name == "format":
            chosen[name] = ["binary", "lowres", "atom", "json", "jsonld"][chance // 2 % 5]
    return chosen
