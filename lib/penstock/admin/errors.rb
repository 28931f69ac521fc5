# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # Arguments that a cluster would refuse, or that contradict each other; raised before anything is sent, with all problems at
  # once.
  class InvalidRequestError < ArgumentError
    include Error

    # @return [Array<Problem>]
    attr_reader :problems

    # @param problems [Array<Problem>]
    def initialize(problems)
      @problems = problems.freeze
      lines = problems.each_with_index.map { |problem, index| "  #{index + 1}. #{problem}" }
      super(problems.one? ? problems.first.to_s : ["The request has #{problems.size} problems:", *lines].join("\n"))
    end
  end
end
