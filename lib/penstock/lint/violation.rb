# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Lint
    # The wrapped object breaks its contract; the message describes what it did and what it should do.
    class Violation < StandardError
      include Error
    end
  end
end
