# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Adopts and finds descendants of this process that it didn't fork itself and that have ended. See
    # `ext/penstock_core/core/subreaper.h`. Linux only.
    #
    # Defined in the extension: `become` (raises a SystemCallError, `Errno::ENOSYS` where it isn't supported), `ended` → the
    # process id of a child that has ended and hasn't been waited for, or nil; the caller still has to wait for it.
    module Subreaper
    end
  end
end
