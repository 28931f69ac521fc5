# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Children that this process didn't fork: those of its descendants that ended. See `ext/penstock_core/core/subreaper.h`. Linux
    # only.
    #
    # Defined in the extension: `become` (raises a SystemCallError, `Errno::ENOSYS` where there is no such thing), `ended` → the
    # process id of some child that has ended and wasn't waited for, or nil; it stays to be waited for.
    module Subreaper
    end
  end
end
