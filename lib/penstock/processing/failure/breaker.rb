# frozen_string_literal: true

require_relative "error_names"
require_relative "window"

module Penstock
  module Processing
    module Failure
      # Distinguishes an outage from bad records by the share of fresh records that fail with similar errors. One per topic and
      # process, shared by the topic's retry topics. It only decides; the poll loops hold their partitions and send the probes.
      # Not thread-safe by itself: see {Runtime::SharedBreaker}.
      #
      # *Evidence* is the first attempt of a fresh record: not a retry, not a record of a retry topic. It opens when `share` of
      # `after` consecutive records have failed with similar errors, or when `outage_after` records have failed with errors of an
      # outage and no fresh record has succeeded in between.
      #
      # States: closed (failures are evidence) → open (nothing runs until `due`) → probing (one record runs) → open again, or
      # closed. It closes with the first success of a fresh record, also of one that was running when it opened; with the success
      # of any probe; when `limit` has passed without an error of an outage; and when a user closes it. In the last two cases its
      # cause is *spent*: the breaker doesn't open for such errors until a fresh record has succeeded. A probe that ends without a
      # result ({#probe_lost}) goes back to open at once.
      class Breaker
        # Errors of the record itself: they don't count as evidence about other records.
        OWN_ERRORS = %w[Penstock::DeserializationError Penstock::ExpiredError Penstock::QuarantinedError].freeze
        # Number of probes without a wait: a few bad records in a row must not cost a back-off.
        AT_ONCE = 3
        # Represents all errors of an outage among spent causes.
        OUTAGE = "an outage"
        private_constant :AT_ONCE, :OUTAGE

        # The breaker's verdict on one failure.
        #   :counted  the attempt counts, the record is settled as usual
        #   :opened   the topic is held from here on, and the attempt doesn't count
        #   :held     the topic is held already: the attempt doesn't count
        VERDICTS = %i[counted opened held].freeze

        # One failed attempt. `number`: when the record began, nil where it isn't known which record failed; `unused`: numbers
        # of its unit without a record (first and count); `sequence`: see {Unit#sequence}; `fresh`: whether it is evidence;
        # `probe`: whether its unit is a probe.
        Attempt = Struct.new(:record, :error, :number, :unused, :sequence, :fresh, :probe, keyword_init: true)

        # @return [Symbol] :closed, :open or :probing
        attr_reader :state
        # @return [Integer, nil] monotonic ms at which the next probe may run
        attr_reader :due
        # @return [String, nil] class name that the errors that opened it have in common
        attr_reader :cause
        # @return [String, nil] class name of the error of the last failure, except errors of the record itself
        attr_reader :error
        # @return [Integer, nil] monotonic ms at which it opened
        attr_reader :since
        # @return [Array<String>] the topics that share it
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
          @unproven = false
          @state = :closed
        end

        def closed? = @state == :closed

        # @return [Boolean] whether a success would change nothing
        def ignores_success? = closed? && @outage.empty? && @spent.empty? && !@unproven

        # @return [Boolean] whether successes have to be reported ({#unit_succeeded}). Any thread
        def failing? = @window.failing?

        # A unit succeeded: its sequence no longer counts as a failing one.
        # @param unit [Unit]
        def unit_succeeded(unit) = @window.sequence_succeeded(unit.sequence)

        # Fresh records begin.
        # @param count [Integer]
        # @param unit [Unit] their unit
        # @return [Integer] number of the first
        def number_records(count, unit) = @window.number_records(count, unit)

        # @see Window#take_numbers
        def take_numbers(count) = @window.take_numbers(count)

        # @see Window#sequences_missing?
        def sequences_missing? = @window.sequences_missing?

        # @see Window#add_sequence
        def add_sequence(sequence) = @window.add_sequence(sequence)

        # Called by any thread, so the value, which another thread may clear, is read once.
        # @return [Integer, nil] monotonic ms at which the hold ends in any case; nil: only with a success
        def ends_at
          from, limit = @limited_from, @policy.limit
          from + limit if from && limit
        end

        # @param attempt [Attempt]
        # @param now [Integer] monotonic ms
        # @return [Symbol] one of {VERDICTS}
        def failed(attempt, now)
          outage = outage?(attempt.error)
          return count_own(attempt, now) if own_error?(attempt.error) && !outage
          @error = attempt.error.class.to_s
          return note_failure(attempt, outage, now) unless closed?
          cause = reopening_cause(outage) || (cause_of(attempt, outage, now) if attempt.fresh)
          @window.unused(*attempt.unused) if attempt.unused
          return :counted unless cause

          begin_hold(cause, outage, now)
          :opened
        end

        # A unit ended without an error.
        # @param fresh [Integer] fresh records that it completed
        # @param completed [Boolean] whether it completed any record; a unit that didn't may only have gathered its records
        # @param probe [Boolean] whether it was a probe
        # @return [Boolean] whether that closed the breaker
        def succeeded(fresh:, completed:, probe:, now:)
          @unproven = false if completed
          if fresh.positive?
            @outage.clear
            @spent.clear
          end
          return false if closed?
          return close if fresh.positive? || (probe && completed)
          probe ? count_gathered(now) : false
        end

        # @param now [Integer] monotonic ms
        # @return [Boolean] whether a probe may run
        def probe?(now) = @state == :open && @due <= now

        # The probe is handed out.
        def begin_probe = @state = :probing

        # The probe was called back, its lane was revoked, or it ended without a result.
        # @param now [Integer] monotonic ms
        # @return [Boolean] whether a probe was under way
        def probe_lost(now)
          return false unless @state == :probing
          @state = :open
          @due = now
          true
        end

        # @param now [Integer] monotonic ms
        # @return [Boolean] whether the hold has lasted as long as it may
        def limit_reached?(now)
          ends = ends_at
          !closed? && !ends.nil? && ends <= now
        end

        # Ends the hold without a success: records are settled as usual, and errors like those that opened it don't open it
        # again until a fresh record has succeeded.
        # @return [Boolean] whether it was open
        def end_hold
          return false if closed?
          @spent[@cause] = @spent[@last] = true
          close
        end

        # @return [Integer] number of failures that opened it, the last one included
        attr_reader :failures
        # @return [Integer, nil] number of records the failures are among; nil: consecutive errors of an outage
        attr_reader :of

        private

        def own_error?(error) = ErrorNames.with_causes(error).intersect?(OWN_ERRORS)
        def outage?(error) = ErrorNames.with_causes(error).intersect?(@policy.outage_errors)

        # A probe with a record that can't be deserialized shows nothing: the next probe may run at once.
        def count_own(attempt, now)
          probe_lost(now) if attempt.probe
          :counted
        end

        # It was closed by probes that only gathered records: the first error of an outage shows that the outage isn't over.
        # @return [String, nil] the cause, if it opens
        def reopening_cause(outage) = (opened_by(1, nil, OUTAGE) if outage && @unproven && !@spent.key?(OUTAGE))

        # @return [String, nil] the cause, if it opens
        def cause_of(attempt, outage, now)
          names = ErrorNames.alike(attempt.error)
          return if spent?(names, outage)
          common = attempt.number && @window.failed(attempt.number, attempt.record, attempt.sequence, names, now)
          return opened_by(@window.needed, @policy.after, common) if common
          return unless outage
          @outage[attempt.record] = now
          @outage.delete_if { |_record, at| now - at > Window::MEMORY_MS }
          opened_by(@outage.size, nil, OUTAGE) if @outage.size >= @policy.outage_after
        end

        def opened_by(failures, of, cause)
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
          note_error(outage, cause, now)
        end

        # Starts the limit again, or stops it while the errors are those of an outage.
        def note_error(outage, name, now)
          @last = outage ? OUTAGE : name
          @limited_from = outage ? nil : @limited_from || now
        end

        # The failed record was running when the breaker opened, or it is the probe.
        def note_failure(attempt, outage, now)
          note_error(outage, ErrorNames.alike(attempt.error).first, now)
          if attempt.probe && @state == :probing
            @state = :open
            @probes += 1
            @unmarked = 0
            @due = now + wait_ms
          end
          :held
        end

        def wait_ms = (@probes < AT_ONCE) ? 0 : @backoff.delay_ms(@probes - AT_ONCE + 1)

        # With manual offsets a consumer may gather records, or mark them later: `after` probes that ended without an error
        # count as one success. It proves less: they may not have used what had failed.
        def count_gathered(now)
          probe_lost(now)
          @unmarked += 1
          return false if @unmarked < @policy.after
          @unproven = true
          close
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
