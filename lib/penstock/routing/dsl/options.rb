# frozen_string_literal: true

require_relative "base"

module Penstock
  module Routing
    module Dsl
      # The block of a topic, and of `defaults`: one method per verb of the features, which checks the types of its
      # options and records them.
      class Options < Base
        # @return [Hash{Symbol => Hash}] typed options by verb
        attr_reader :given

        # For macros.
        # @yield draws options that count where neither the topic nor `defaults` has them
        # @return [Hash{Symbol => Hash}] these options
        # @api private
        def otherwise(&block)
          @otherwise = Options.new(@session, @place, @location).fill(block).given if block
          @otherwise
        end

        # @param session [Session]
        # @param place [String] for problems
        # @param location [String, nil]
        def initialize(session, place, location = nil)
          super(session)
          @place = place
          @location = location
          @given = {}
          @otherwise = {}.freeze
          session.features.each { |feature| feature.verbs.each { |verb| define(verb, feature) } }
        end

        private

        attr_reader :place

        def verbs
          @session.verbs
        end

        def topic_verbs?
          true
        end

        def define(verb, feature)
          define_singleton_method(verb) do |*arguments, **keywords, &block|
            keywords = {feature.block => block, **keywords} if block && feature.block
            report("#{verb} takes no block") if block && feature.block.nil?
            refuse(verb, arguments, keywords)
            read = feature.read(arguments, keywords, verb) { |message, hint| report(message, hint) }
            keep(verb, feature, read)
            nil
          end
        end

        def refuse(verb, arguments, keywords)
          refusal = Compat::Karafka::Routing.refusal(verb, keywords) if arguments.empty?
          report(*refusal) if refusal
        end

        # The first value counts; a second, different one is a mistake.
        def keep(verb, feature, read)
          return (@given[feature.verb] ||= []) << read if feature.repeatable?

          earlier = @given[feature.verb]
          @given[feature.verb] ||= read
          report("#{verb} is set twice, with different values", "Keep one of them") if earlier && earlier != read
        end

        def report(message, hint = nil, **more)
          super(message, hint, location: @location, **more)
        end
      end
    end
  end
end
