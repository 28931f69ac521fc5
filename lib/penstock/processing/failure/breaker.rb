# frozen_string_literal: true

require_relative "error_names"
require_relative "window"

module Penstock
  module Processing
    module Failure
      # Tells an outage from bad records by the share of fresh records that fail alike. One a topic and process, shared by the
      # topic's retry topics; it decides, the poll loops hold their partitions and send the probes. Not safe for several threads
      # by itself: see {Runtime::SharedBreaker}.
      #
      # *Evidence* is the first attempt of a fresh record: no retry, no record of a retry topic. It opens when `share` of `after`
      # records that began one after the other have failed alike, or when `outage_after` records have failed with errors of an
      # outage and none has succeeded in between.
      #
      # States: closed (failures are evidence) → open (nothing runs until `due`) → probing (one record runs) → open again, or
      # closed. It closes with the first success of a fresh record, also of one that was running when it opened; with the success
      # of any probe; when `limit` has passed without an error of an outage; and when somebody closes it by hand. After the latter
      # two its cause is *spent*: it opens for none like it until a fresh record has succeeded. A probe that ends without an
      # answer ({#probe_lost}) goes back to open at once.
      class Breaker
        # Errors of the record itself: they say nothing about other records.
        OWN_ERRORS = %w[Penstock::DeserializationError Penstock::QuarantinedError].freeze
        # Probes that wait for nothing: a few bad records in a row must not cost a back-off.
        AT_ONCE = 3
        # What stands for all errors of an outage among spent causes.
        OUTAGE = "an outage"
        private_constant :AT_ONCE, :OUTAGE

        # What one failure means to the breaker.
        #   :counted  the attempt counts, the record goes its way
        #   :opened   the topic is held from here on, and the attempt doesn't count
        #   :held     it is held already: the attempt doesn't count
        VERDICTS = %i[counted opened held].freeze

        # One failed attempt. `number`: when the record began, nil where it isn't known which record failed; `unused`: numbers of
        # its unit that no record has (first and count); `sequence`: see {Unit#sequence}; `fresh`: whether it
        # is evidence; `probe`: whether its unit is a probe.
        Attempt = Struct.new(:record, :error, :number, :unused, :sequence, :fresh, :probe, keyword_init: true)

        # @return [Symbol] :closed, :open or :probing
        attr_reader :state
        # @return [Integer, nil] monotonic ms at which the next probe may run
        attr_reader :due
        # @return [String, nil] what the errors that opened it have in common
        attr_reader :cause
        # @return [Integer, nil] monotonic ms at which it opened
        attr_reader :since
        # @return [Array<String>] the topics it stands for
        attr_reader :topics

        # @param policy [Routing::Breaker]
        # @param backoff [Backoff] waits between probes
        # @param topics [Array<String>]
        def initialize(policy, backoff, topics = [])
          @policy = policy
          @backoff = backoff
          @topics = topics
          @window = Window.new(policy.after, policy.share)
          @outage = {}
          @spent = {}
          @state = :closed
        end

        def closed? = @state == :closed

        # @return [Boolean] whether a success would change nothing
        def at_rest? = closed? && @outage.empty? && @spent.empty?

        # @return [Boolean] whether successes have to be told ({#passed}). Any thread
        def failing? = @window.failing?

        # A unit ended well: what follows it in its sequence is no longer that of a failing one.
        # @param unit [Unit]
        def passed(unit) = @window.passed(unit.sequence)

        # Fresh records begin.
        # @param count [Integer]
        # @param unit [Unit] theirs
        # @return [Integer] number of the first
        def begun(count, unit) = @window.begun(count, unit)

        # @see Window#number
        def number(count) = @window.number(count)

        # @see Window#sequences_missing?
        def sequences_missing? = @window.sequences_missing?

        # @see Window#began
        def began(sequence) = @window.began(sequence)

        # Any thread, so the value that another one may take away is read once.
        # @return [Integer, nil] monotonic ms at which the hold ends whatever happens; nil: with a success only
        def ends_at
          from, limit = @limited_from, @policy.limit
          from + limit if from && limit
        end

        # @param attempt [Attempt]
        # @param now [Integer] monotonic ms
        # @return [Symbol] one of {VERDICTS}
        def failed(attempt, now)
          outage = outage?(attempt.error)
          return own(attempt, now) if own?(attempt.error) && !outage
          return hold(attempt, outage, now) unless closed?
          cause = (cause_of(attempt, outage, now) if attempt.fresh)
          @window.unused(*attempt.unused) if attempt.unused
          return :counted unless cause

          begin_hold(cause, outage, now)
          :opened
        end

        # A unit ended without an error.
        # @param fresh [Integer] fresh records that it completed
        # @param completed [Boolean] whether it completed any record; one that didn't may only have gathered what it was given
        # @param probe [Boolean] whether it was a probe
        # @return [Boolean] whether that closed it
        def succeeded(fresh:, completed:, probe:, now:)
          if fresh.positive?
            @outage.clear
            @spent.clear
          end
          return false if closed?
          return close if fresh.positive? || (probe && completed)
          probe ? gathered(now) : false
        end

        # @param now [Integer] monotonic ms
        # @return [Boolean] whether a probe may run
        def probe?(now) = @state == :open && @due <= now

        # It is handed out.
        def probing = @state = :probing

        # The probe was called back, its lane was given up, or it ended without an answer.
        # @param now [Integer] monotonic ms
        # @return [Boolean] whether one was under way
        def probe_lost(now)
          return false unless @state == :probing
          @state = :open
          @due = now
          true
        end

        # @param now [Integer] monotonic ms
        # @return [Boolean] whether the hold has lasted as long as it may
        def over?(now)
          ends = ends_at
          !closed? && !ends.nil? && ends <= now
        end

        # Ends the hold without a success: records go their way, and errors like those that opened it don't open it again before a
        # fresh record has succeeded.
        # @return [Boolean] whether it was open
        def give_up
          return false if closed?
          @spent[@cause] = @spent[@last] = true
          close
        end

        # @return [Integer] failures that led to it, the last one included
        attr_reader :failures
        # @return [Integer, nil] records they are among; nil: they came one after another, with errors of an outage
        attr_reader :of

        private

        def own?(error) = ErrorNames.with_causes(error).intersect?(OWN_ERRORS)
        def outage?(error) = ErrorNames.with_causes(error).intersect?(@policy.outage_errors)

        # An undecodable record among the probes says nothing: the next one may.
        def own(attempt, now)
          probe_lost(now) if attempt.probe
          :counted
        end

        # @return [String, nil] why it opens
        def cause_of(attempt, outage, now)
          names = ErrorNames.alike(attempt.error)
          return if spent?(names, outage)
          crowd = attempt.number && @window.failed(attempt.number, attempt.record, attempt.sequence, names, now)
          return counted(@window.needed, @policy.after, crowd) if crowd
          return unless outage
          @outage[attempt.record] = now
          @outage.delete_if { |_record, at| now - at > Window::MEMORY_MS }
          counted(@outage.size, nil, OUTAGE) if @outage.size >= @policy.outage_after
        end

        def counted(failures, of, cause)
          @failures = failures
          @of = of
          cause
        end

        def spent?(names, outage) = @spent.any? && ((outage && @spent.key?(OUTAGE)) || names.any? { |name| @spent.key?(name) })

        def begin_hold(cause, outage, now)
          @cause = cause
          @since = now
          @state = :open
          @probes = @unmarked = 0
          @due = now
          seen(outage, cause, now)
        end

        # The limit doesn't run while errors are those of an outage.
        def seen(outage, name, now)
          @last = outage ? OUTAGE : name
          @limited_from = outage ? nil : @limited_from || now
        end

        # What fails now was running when it opened, or is the probe.
        def hold(attempt, outage, now)
          seen(outage, ErrorNames.alike(attempt.error).first, now)
          if attempt.probe && @state == :probing
            @state = :open
            @probes += 1
            @unmarked = 0
            @due = now + wait_ms
          end
          :held
        end

        def wait_ms = (@probes < AT_ONCE) ? 0 : @backoff.delay_ms(@probes - AT_ONCE + 1)

        # With manual offsets a consumer may gather records, or mark them later: so many that were taken without an error count as
        # one that succeeded.
        def gathered(now)
          probe_lost(now)
          @unmarked += 1
          (@unmarked < @policy.after) ? false : close
        end

        # @return [true]
        def close
          @state = :closed
          @window.clear
          @outage.clear
          @due = @limited_from = nil
          true
        end
      end
    end
  end
end
