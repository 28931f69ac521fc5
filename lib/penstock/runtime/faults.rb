# frozen_string_literal: true

require_relative "../assignment/commits"
require_relative "../errors"
require_relative "../execution/unit_runner"
require_relative "../native/consumer"
require_relative "../nearest"
require_relative "loop/work/dead_letters"
require_relative "loop/work/feeder"
require_relative "loop/group/rebalances"

module Penstock
  module Runtime
    # Makes a process die, fail or wait at named points, for tests of what a crash there causes.
    #
    # Without PENSTOCK_FAULTS this file isn't loaded, and the classes below don't call it. With it, methods are prepended to
    # theirs for the rest of the process.
    #
    #     PENSTOCK_FAULTS="before_commit=kill@3,after_unit=hold:200" penstock server
    #
    # Each is `point=action`, with `@n` for the nth time the point is reached (default: the first) and, for hold, `:ms`.
    # Actions: kill (SIGKILL to itself), exit (`exit!`), raise, hold (at most a minute).
    module Faults
      ACTIONS = %w[kill exit raise hold].freeze
      LONGEST_HOLD_MS = 60_000
      EXIT_CODE = 99

      # The action at a point, and when it happens.
      Fault = Struct.new(:action, :nth, :ms)

      # Raised by the action `raise`.
      class Injected < StandardError
      end

      # Each point's class, its method, whether it is before or after the method, and for which arguments it counts.
      POINTS = {
        before_take: [Feeder, :take, :before],
        after_take: [Feeder, :take, :after],
        before_unit: [Execution::UnitRunner, :call, :before, ->(_slot, unit) { unit.consume? }],
        after_unit: [Execution::UnitRunner, :call, :after, ->(_slot, unit) { unit.consume? }],
        before_commit: [Assignment::Commits, :sent, :before],
        after_commit_sent: [Native::Consumer, :commit, :after],
        after_commit_ack: [Assignment::Commits, :answered, :after],
        before_dead_letter: [DeadLetters, :offer, :before],
        after_dead_letter_ack: [DeadLetters, :acknowledged, :before],
        before_answer_revoke: [Rebalances, :finish, :before]
      }.freeze
      FORM = /\A(?<point>\w+)=(?<action>[a-z]+)(?::(?<ms>\d+))?(?:@(?<nth>\d+))?\z/
      private_constant :POINTS, :FORM

      @faults = {}
      @hits = Hash.new(0)
      @lock = Mutex.new

      class << self
        # @return [Array<Symbol>] names of all points
        def points = POINTS.keys

        # Prepends the points of a specification to their classes. Called once per process, before anything runs.
        # @param specification [String]
        # @raise [ConfigurationError] lists every problem of the specification
        def install(specification)
          @faults = parse(specification)
          @faults.each_key { |point| put(point, *POINTS.fetch(point)) }
        end

        # @param specification [String]
        # @return [Hash{Symbol => Fault}]
        # @raise [ConfigurationError]
        def parse(specification)
          problems = []
          faults = specification.split(",").to_h { |text| one(text.strip, problems) }
          raise ConfigurationError.new(problems) unless problems.empty?
          faults
        end

        # The process has reached a point.
        # @param point [Symbol]
        def at(point)
          fault = @faults[point] or return
          return unless @lock.synchronize { @hits[point] += 1 } == fault.nth
          happen(point, fault)
        end

        private

        def one(text, problems)
          match = FORM.match(text)
          unless match
            problems << Problem.new("PENSTOCK_FAULTS", "#{text.inspect} isn't point=action[:ms][@n]")
            return [nil, nil]
          end
          unknown(match[:point], match[:action], problems)
          ms = [Integer(match[:ms] || 0), LONGEST_HOLD_MS].min
          [match[:point].to_sym, Fault.new(match[:action], Integer(match[:nth] || 1), ms)]
        end

        def unknown(point, action, problems)
          unless POINTS.key?(point.to_sym)
            hint = Nearest.hint(point, points) || "There are #{points.join(", ")}"
            problems << Problem.new("PENSTOCK_FAULTS", "there is no point #{point}", hint)
          end
          return if ACTIONS.include?(action)
          problems << Problem.new("PENSTOCK_FAULTS", "#{point}: there is no action #{action}", "There are #{ACTIONS.join(", ")}")
        end

        def put(point, owner, name, place, wanted = nil)
          visible = owner.private_method_defined?(name) ? :private : :public
          owner.prepend(Module.new do
            define_method(name) do |*arguments, **options, &block|
              concerned = wanted.nil? || wanted.call(*arguments)
              Faults.at(point) if concerned && place == :before
              super(*arguments, **options, &block).tap { Faults.at(point) if concerned && place == :after }
            end
            send(visible, name)
          end)
        end

        def happen(point, fault)
          case fault.action
          when "kill" then ::Process.kill(:KILL, ::Process.pid)
          when "exit" then exit!(EXIT_CODE)
          when "raise" then raise Injected, "fault injected at #{point} by PENSTOCK_FAULTS"
          when "hold" then ConditionVariable.new.wait(Mutex.new.tap(&:lock), fault.ms / 1000.0)
          end
        end
      end
    end
  end
end
