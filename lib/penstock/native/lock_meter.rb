# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Measures how long a worker thread is busy, how much of that it waits for Ruby's lock (the GVL), and how long it holds the
    # lock: see `ext/penstock_core/core/lock_meter.h`. A thread has at most one, which it opens and closes itself; any thread may
    # read it.
    #
    # Defined in the extension:
    #
    # * `hooks?` → whether this Ruby reports waits, as it does from 3.2 on; without hooks a meter's waits are 0.
    # * `prepare` → raises a ThreadError if nothing can be measured in this process, because other libraries have taken all
    #   storage that Ruby has for such measurements. The others below do the same, unless this was called.
    # * `start`, `stop` → between them waits are measured, for all meters of the process. Each `start` needs a `stop`.
    # * `open` → the calling thread's meter. Raises a ThreadError if it has one.
    # * `close` → its figures stay as they are. Called by its thread.
    # * `busy`, `idle` → called by its thread, around its work; waits count in between only.
    # * `read` → `[busy, waited, held]` since `open`, in nanoseconds. `held` is an estimate by figures of the kernel; nil where
    #   they can't be read, as on macOS.
    class LockMeter
    end
  end
end
