// What the server offers; teardown.capnp says how it goes over the wire.
#ifndef TEARDOWN_H
#define TEARDOWN_H

class Teardown {
  public:
    virtual ~Teardown() = default;
    virtual int ping(int value) = 0; // value + 1
    virtual void die() = 0;          // the process ends within the call
};

#endif
