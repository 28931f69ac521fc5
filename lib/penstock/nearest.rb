# frozen_string_literal: true

require "did_you_mean"

module Penstock
  # Finds the name that a user probably meant. Ruby's own did_you_mean does the work: it ships with every Ruby, is tuned to
  # misspelt identifiers, and returns nothing rather than a distant match.
  module Nearest
    module_function

    # @param name [String, Symbol] the unknown name
    # @param candidates [Enumerable<String, Symbol>] the names that exist
    # @return [String, nil] the closest one, nil when none is close
    def to(name, candidates)
      names = candidates.map(&:to_s)
      same_letters(name.to_s, names) || DidYouMean::SpellChecker.new(dictionary: names).correct(name.to_s).first
    end

    # @return [String, nil] a sentence for the end of an error message
    def hint(name, candidates)
      nearest = to(name, candidates)
      "Did you mean #{nearest}?" if nearest
    end

    # `max-messages`, `maxMessages` and `max.messages` mean `max_messages` to a person, but differ too much for a spell checker.
    def same_letters(name, names)
      wanted = letters(name)
      names.find { |candidate| candidate != name && letters(candidate) == wanted }
    end

    def letters(name)
      name.downcase.delete("^a-z0-9")
    end
    private_class_method :same_letters, :letters
  end
end
