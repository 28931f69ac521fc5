# frozen_string_literal: true

require_relative "../../../consumer/claim"
require_relative "../../../native/envelope"
require_relative "../../../processing/offset_slot"
require_relative "../../../processing/transaction_marks"

module Penstock
  module Runtime
    # Grants the lanes' offset slots to transactions of user code, and finds out how a transaction ended when its worker doesn't
    # know. Runs on the poll loop's thread; questions that wait for a broker are asked by a thread of its own.
    #
    # See docs/internals/transactions.md for the states and what may interrupt them.
    class OffsetSlots
      # How long to wait before trying again to start a thread that finds out how a transaction ended.
      RESOLVE_AGAIN_MS = 1_000
      private_constant :RESOLVE_AGAIN_MS

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param offset_lookup [OffsetLookup]
      # @param codec [#encode]
      # @param settle [#call] settles an outcome that was deferred
      # @param resolve_transaction [#call] asks a claim's producer until there is an answer, which is posted as a
      #   {Consumer::Claim::TransactionEnd}: `call(claim)`, false when no thread could be started for it
      def initialize(connection, committer, offset_lookup, codec:, settle:, resolve_transaction:)
        @connection = connection
        @committer = committer
        @offset_lookup = offset_lookup
        @codec = codec
        @settle = settle
        @resolve_transaction = resolve_transaction
        @waiting = []
        @reading = []
        @unresolved = {}.compare_by_identity
      end

      # Called when a worker is at the end of its transaction's block.
      # @param claim [Consumer::Claim]
      def requested(claim)
        return claim.refuse unless ours?(claim)
        claim.lane.offset_slot.add(claim)
        @waiting << claim.lane
        run
      end

      # A transaction has ended, according to its worker or to the thread that asked for its outcome. Ignored when the slot
      # wasn't granted to it, or its end is known already.
      # @param transaction_end [Consumer::Claim::TransactionEnd]
      def ended(transaction_end)
        claim, fate = transaction_end.to_a
        slot = claim.lane.offset_slot
        return slot.close(claim) unless slot.holder.equal?(claim)
        return known(claim, fate) if %i[committed aborted].include?(fate)
        (fate == :lost && slot.unknown?) ? read_again(claim) : lost(claim)
      end

      # Defers the outcome of a unit whose transaction may or may not have been committed, until that is known.
      # @param outcome [Processing::Outcome]
      # @return [Boolean] whether it was deferred
      def defer(outcome)
        lane = outcome.unit.lane
        claim = (lane.offset_slot.holder if lane.offset_slot.taken?)
        return false unless claim && claim.unit.equal?(outcome.unit)
        claim.outcome = outcome
        lost(claim)
        true
      end

      # Grants the claims that can be granted, and refuses those of lanes that aren't ours any more.
      def run
        end_revoked_readings unless @reading.empty?
        resolve_again unless @unresolved.empty?
        return if @waiting.empty?
        @waiting.uniq!
        @waiting.each { |lane| advance(lane) }
        @waiting.select! { |lane| lane.offset_slot.waiting? }
      end

      # @return [Integer, nil] monotonic ms of the next run, even without an event
      def next_due = (@unresolved.values.min unless @unresolved.empty?)

      # The connection ends: claims on its lanes are void. Waiting workers get an answer at once, because they hold a producer
      # while they wait.
      def close
        @waiting.each { |lane| refuse_all(lane) }
        @reading.each { |claim| @connection.mailbox.post(Consumer::Claim::TransactionEnd.new(claim, :aborted)) }
        @unresolved.each_key { |claim| @connection.mailbox.post(Consumer::Claim::TransactionEnd.new(claim, :unknown)) }
      end

      private

      def ours?(claim)
        lane = claim.lane
        @connection.current?(lane) && lane.owned? && lane.marks.owned? && claim.incarnation == lane.incarnation &&
          !lane.commit_state.doubtful? && lane.ledger.known? && claim.marks.all? { |cell, _offset| counts_in?(cell) }
      end

      # Records that were redelivered after an error don't belong to the transaction of an older message.
      def counts_in?(cell) = !cell.respond_to?(:owned?) || cell.owned?

      def advance(lane)
        slot = lane.offset_slot
        slot.remove_unless { |claim| ours?(claim) }.each(&:refuse)
        return if slot.taken? || !@committer.free_for_transaction?(lane)
        claims = slot.waiting.reject { |claim| still_unfit?(claim) }
        return if claims.empty?
        group = group_of(lane)
        return refuse_all(lane) unless group
        claims.find { |claim| grant(claim, group) } || claims.find { |claim| grant_reduced(claim, group) }
      end

      def refuse_all(lane) = lane.offset_slot.remove_unless { false }.each(&:refuse)

      # A member that was expelled has no id any more, and a transaction without a member would be accepted. A member that has
      # rejoined has another id than the lane was assigned with: the lane's state belongs to the old membership, so it starts
      # again from the group's committed offset.
      def group_of(lane)
        group = @connection.driver.group_metadata
        return group if @connection.group.direct?
        return unless group && group.generation >= 0 && !group.member_id.empty?
        return group if group.member_id == lane.assignment.member_id
        reset_for_member(lane, group.member_id)
      end

      # Reads the lane's state for the new member.
      # @return [nil]
      def reset_for_member(lane, member_id)
        @offset_lookup.reopen(lane, lane.committable_offset) do
          lane.assignment.member_id = member_id
          @committer.run
          run
        end
        nil
      end

      # Completed offsets that don't fit into the metadata would run again after a crash: such a claim waits until others have
      # moved the base.
      # @return [Boolean] whether they fitted
      def grant(claim, group)
        lane = claim.lane
        ledger = Processing::TransactionMarks.new(lane, claim.marks).ledger
        offset = ledger.committable
        metadata = @codec.encode_whole(lane, offset, ledger, claim.metadata)
        alone = @committer.bare?(lane) && (metadata.nil? || ledger.ranges.empty?)
        return false unless metadata || alone
        give(claim, group, offset, (metadata unless alone))
      end

      # None of the waiting claims fits. A claim for the record at the base need not wait for any other: it is committed without
      # the user's metadata, and with as many of the completed offsets as fit. Where the broker accepts less metadata than
      # usual, the user's may never fit: there the other claims go without it too, as long as nothing else is omitted.
      # @return [Boolean] whether it is granted
      def grant_reduced(claim, group)
        lane = claim.lane
        ledger = Processing::TransactionMarks.new(lane, claim.marks).ledger
        offset = ledger.committable
        written = @codec.write_ours(lane, offset, ledger)
        fits = lane.ledger.budget < Native::Envelope::MAX_BYTES && written.left_out_offsets.zero?
        return no_room(claim) unless fits || offset > lane.committable_offset
        emit_reduced(claim, ledger)
        give(claim, group, offset, written.text)
      end

      # Emitted once per size of the budget, not with every transaction.
      def emit_reduced(claim, ledger)
        lane = claim.lane
        return if lane.offset_slot.reported_budget == lane.ledger.budget
        lane.offset_slot.reported_budget = lane.ledger.budget
        users = claim.metadata || @codec.user_metadata(lane, ledger.committable)
        @committer.report_reduced(lane, ledger.encoded_size(attempts: lane.attempts.size, user_bytes: users.to_s.bytesize))
      end

      def give(claim, group, offset, metadata)
        lane = claim.lane
        claim.base = lane.committable_offset
        claim.version = metadata && lane.ledger.version
        claim.offset = offset
        lane.offset_slot.grant(claim)
        claim.grant([lane.topic_name, lane.partition, offset, metadata, lane.leader_epochs.below(offset)], group)
        true
      end

      # Whether the ledger is unchanged since the claim's metadata didn't fit.
      def still_unfit?(claim) = claim.unfit_version == claim.lane.ledger.version && !@committer.bare?(claim.lane)

      def no_room(claim)
        claim.unfit_version = claim.lane.ledger.version
        false
      end

      # --- the end of a transaction

      def known(claim, fate)
        lane = claim.lane
        lane.offset_slot.close(claim)
        @committer.too_large(lane, claim.too_large) if claim.too_large&.positive? && @connection.current?(lane)
        committed(claim) if fate == :committed && counts?(claim)
        free(lane)
        settle_deferred(claim)
      end

      # True also after the end of a stop's time: an offset that is committed later must not be lower.
      def counts?(claim) = claim.lane.owned? && claim.incarnation == claim.lane.incarnation

      def committed(claim)
        lane = claim.lane
        lane.recording&.carried(claim.marks)
        Processing::TransactionMarks.new(lane, claim.marks).commit(claim.offset, claim.version)
        lane.marks.store_metadata(claim.metadata) if claim.metadata
        @connection.emit("offsets.committed", {subscription_group_id: @connection.group.id,
          offsets: [[lane.topic_name, lane.partition, claim.offset]]})
        @committer.carried(lane)
      end

      def free(lane)
        lane.holds.release(:transaction)
        lane.takes.ready = true
        @committer.run
        run
      end

      def settle_deferred(claim)
        outcome, claim.outcome = claim.outcome, nil
        @settle.call(outcome) if outcome
      end

      # --- an end that isn't known

      def lost(claim)
        lane = claim.lane
        news = lane.offset_slot.mark_unknown(claim)
        lane.holds.add(:transaction) if news && @connection.current?(lane)
        resolve(claim) if news || !claim.resolving
      end

      def resolve(claim)
        claim.resolving = @resolve_transaction.call(claim)
        claim.resolving ? @unresolved.delete(claim) : @unresolved[claim] = @connection.now + RESOLVE_AGAIN_MS
      end

      def resolve_again
        now = @connection.now
        @unresolved.select { |_claim, due| due <= now }.each_key { |claim| resolve(claim) }
      end

      # The producer can't be asked any more: the group's committed offset decides.
      def read_again(claim)
        lane = claim.lane
        return known(claim, :aborted) unless @connection.current?(lane) && counts?(claim)
        return if @reading.include?(claim)
        @reading << claim
        @offset_lookup.reopen(lane, claim.base) { end_reading(claim) }
      end

      # The claim's marks are void, like everything of the previous incarnation.
      def end_reading(claim)
        @reading.delete(claim)
        known(claim, :aborted)
      end

      # Lanes that were revoked in the meantime are no longer read.
      def end_revoked_readings = @reading.reject { |claim| @connection.current?(claim.lane) }.each { |claim| end_reading(claim) }
    end
  end
end
