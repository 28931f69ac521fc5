# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Lint
    # What was wrapped doesn't keep its contract; the text says what it did and what it may do.
    class Violation < StandardError
      include Error
    end
  end
end
