# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Adds two values to every number of parsed statistics: `<key>_d`, its change since the previous statistics, and `<key>_fd`,
    # the milliseconds since its last change. In C, since a client with a few partitions and brokers has 500 numbers. Stateless;
    # any thread.
    #
    # Defined in the extension: `call(current, previous, elapsed, names)` → `current`, a Hash that is changed. `previous` is the
    # result before, or nil, with which every change is 0. `elapsed` is the time between the two in ms. `names` is a Hash that
    # the caller keeps: the names of the added values by key.
    module StatsChanges
    end
  end
end
