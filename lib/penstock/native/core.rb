# frozen_string_literal: true

module Penstock
  module Native
    # The part of the native code that needs no librdkafka: the commit envelope, the statistics trim. Loaded alone in a
    # few milliseconds; its classes are in files of their own, which require this one.
    module Core
    end
  end
end

require "penstock/penstock_core"
