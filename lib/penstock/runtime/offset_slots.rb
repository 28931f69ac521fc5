# frozen_string_literal: true

require_relative "../consumer/claim"
require_relative "../native/envelope"
require_relative "../processing/offset_slot"

module Penstock
  module Runtime
    # Hands the lanes' offset slots to transactions of user code, and finds out how one ended whose worker couldn't say. Runs on
    # the poll loop's thread; what waits for a broker is asked by a thread of its own.
    #
    # See docs/internals/transactions.md for the states and what may interrupt them.
    class OffsetSlots
      # How long to wait before a producer is asked that nobody could be found to ask.
      ASK_MS = 1_000
      private_constant :ASK_MS

      # @param session [Session]
      # @param committer [Committer]
      # @param opening [Opening]
      # @param codec [#encode]
      # @param settle [#call] settles an outcome that was put off
      # @param inquire [#call] has a claim's producer asked until there is an answer, which comes as a word: `call(claim)`, false
      #   when there was nobody to do it
      def initialize(session, committer, opening, codec:, settle:, inquire:)
        @session = session
        @committer = committer
        @opening = opening
        @codec = codec
        @settle = settle
        @inquire = inquire
        @waiting = []
        @reading = []
        @unasked = {}.compare_by_identity
      end

      # A worker is at the end of its transaction's block.
      # @param claim [Consumer::Claim]
      def asked(claim)
        return claim.refuse unless ours?(claim)
        claim.lane.offset_slot.ask(claim)
        @waiting << claim.lane
        run
      end

      # How a transaction ended, from its worker or from who asked for it. What came to its end before it was granted, or was told
      # before, is no news.
      # @param word [Consumer::Claim::Word]
      def ended(word)
        claim, fate = word.to_a
        slot = claim.lane.offset_slot
        return slot.close(claim) unless slot.holder.equal?(claim)
        return known(claim, fate) if %i[committed aborted].include?(fate)
        (fate == :lost && slot.unknown?) ? read_again(claim) : lost(claim)
      end

      # The outcome of a unit whose transaction's end isn't known is put off until it is.
      # @param outcome [Processing::Outcome]
      # @return [Boolean] whether it is
      def put_off?(outcome)
        lane = outcome.unit.lane
        claim = (lane.offset_slot.holder if lane.in_transaction?)
        return false unless claim && claim.unit.equal?(outcome.unit)
        claim.outcome = outcome
        lost(claim)
        true
      end

      # Grants what can be granted, and refuses what isn't ours any more.
      def run
        gone unless @reading.empty?
        ask_again unless @unasked.empty?
        return if @waiting.empty?
        @waiting.uniq!
        @waiting.each { |lane| advance(lane) }
        @waiting.select! { |lane| lane.offset_slot.waiting? }
      end

      # @return [Integer, nil] when to be run again, whatever happens
      def next_due = @unasked.values.min

      # The connection ends: nothing of its lanes counts any more. Who waits is told so, for it holds a producer meanwhile.
      def close
        @waiting.each { |lane| refuse_all(lane) }
        @reading.each { |claim| @session.mailbox.post(Consumer::Claim::Word.new(claim, :aborted)) }
        @unasked.each_key { |claim| @session.mailbox.post(Consumer::Claim::Word.new(claim, :unknown)) }
      end

      private

      def ours?(claim)
        lane = claim.lane
        @session.current?(lane) && lane.owned? && lane.marks.owned? && claim.incarnation == lane.incarnation &&
          !lane.doubtful? && lane.ledger.known? && claim.marks.all? { |cell, _offset| counts_in?(cell) }
      end

      # What has come again since, after an error, is no matter of an older message's transaction.
      def counts_in?(cell) = !cell.respond_to?(:owned?) || cell.owned?

      def advance(lane)
        slot = lane.offset_slot
        slot.refuse_unless { |claim| ours?(claim) }.each(&:refuse)
        return if slot.taken? || !@committer.at_rest?(lane)
        claims = slot.waiting.reject { |claim| cramped?(claim) }
        return if claims.empty?
        group = group_of(lane)
        return refuse_all(lane) unless group
        claims.find { |claim| grant(claim, group) } || claims.find { |claim| grant_less(claim, group) }
      end

      def refuse_all(lane) = lane.offset_slot.refuse_unless { false }.each(&:refuse)

      # A member that was thrown out has no id any more, and a transaction of nobody would be accepted. One that has come back is
      # another than the lane came with: what the lane knows is of a life that is over, so it begins anew where the group stands.
      def group_of(lane)
        group = @session.driver.group_metadata
        return group if @session.group.direct?
        return unless group && group.generation >= 0 && !group.member_id.empty?
        return group if group.member_id == lane.member_id
        begin_anew(lane, group.member_id)
      end

      # Only what is read for it makes the lane the new member's.
      # @return [nil]
      def begin_anew(lane, member_id)
        @opening.again(lane, lane.position) do
          lane.member_id = member_id
          @committer.run
          run
        end
        nil
      end

      # Where what is complete has no room in the metadata, it would run again after a crash: such a claim waits until others have
      # moved the base.
      # @return [Boolean] whether there was room
      def grant(claim, group)
        lane = claim.lane
        ledger = lane.ledger_with(claim.marks)
        offset = ledger.committable
        metadata = @codec.encode_whole(lane, offset, ledger, claim.metadata)
        alone = @committer.bare?(lane) && (metadata.nil? || ledger.ranges.empty?)
        return false unless metadata || alone
        give(claim, group, offset, (metadata unless alone))
      end

      # None of those that wait has room, and whose record is the base waits for nobody but itself: it goes without the user's
      # metadata, and with what then has room of the rest. Where the broker takes less than usual the user's may never fit: there
      # the others go without it too, as long as nothing else is left out.
      # @return [Boolean] whether it is granted
      def grant_less(claim, group)
        lane = claim.lane
        ledger = lane.ledger_with(claim.marks)
        offset = ledger.committable
        written = @codec.write_ours(lane, offset, ledger)
        fits = lane.ledger.budget < Native::Envelope::MAX_BYTES && written.left_out_offsets.zero?
        return no_room(claim) unless fits || offset > lane.position
        tell_less(claim, ledger)
        give(claim, group, offset, written.text)
      end

      # Once for a room: it isn't news with every transaction.
      def tell_less(claim, ledger)
        lane = claim.lane
        return if lane.offset_slot.told_room == lane.ledger.budget
        lane.offset_slot.told_room = lane.ledger.budget
        users = claim.metadata || @codec.user_metadata(lane, ledger.committable)
        @committer.tell_reduced(lane, ledger.encoded_size(attempts: lane.attempts.size, user_bytes: users.to_s.bytesize))
      end

      def give(claim, group, offset, metadata)
        lane = claim.lane
        claim.base = lane.position
        claim.version = metadata && lane.ledger.version
        claim.offset = offset
        lane.offset_slot.open(claim)
        claim.grant([lane.topic_name, lane.partition, offset, metadata, lane.leader_epochs.below(offset)], group)
        true
      end

      # Whether nothing has changed since it had no room.
      def cramped?(claim) = claim.cramped == claim.lane.ledger.version && !@committer.bare?(claim.lane)

      def no_room(claim)
        claim.cramped = claim.lane.ledger.version
        false
      end

      # --- its end

      def known(claim, fate)
        lane = claim.lane
        lane.offset_slot.close(claim)
        @committer.too_large(lane, claim.too_large) if claim.too_large&.positive? && @session.current?(lane)
        committed(claim) if fate == :committed && counts?(claim)
        free(lane)
        put_off(claim)
      end

      # Also behind the end of a stop's time: what is committed later must not be less.
      def counts?(claim) = claim.lane.owned? && claim.incarnation == claim.lane.incarnation

      def committed(claim)
        lane = claim.lane
        lane.recording&.carried(claim.marks)
        lane.commit_marks(claim.marks, claim.offset, claim.version)
        lane.marks.store_metadata(claim.metadata) if claim.metadata
        @session.emit("offsets.committed", {subscription_group_id: @session.group.id,
          offsets: [[lane.topic_name, lane.partition, claim.offset]]})
        @committer.carried(lane)
      end

      def free(lane)
        lane.holds.release(:transaction)
        lane.ready = true
        @committer.run
        run
      end

      def put_off(claim)
        outcome, claim.outcome = claim.outcome, nil
        @settle.call(outcome) if outcome
      end

      # --- an end that isn't known

      def lost(claim)
        lane = claim.lane
        news = lane.offset_slot.lose(claim)
        lane.holds.add(:transaction) if news && @session.current?(lane)
        ask(claim) if news || !claim.inquired
      end

      def ask(claim)
        claim.inquired = @inquire.call(claim)
        claim.inquired ? @unasked.delete(claim) : @unasked[claim] = @session.now + ASK_MS
      end

      def ask_again
        now = @session.now
        @unasked.select { |_claim, due| due <= now }.each_key { |claim| ask(claim) }
      end

      # Nobody can be asked any more: what the group has is the truth.
      def read_again(claim)
        lane = claim.lane
        return known(claim, :aborted) unless @session.current?(lane) && counts?(claim)
        return if @reading.include?(claim)
        @reading << claim
        @opening.again(lane, claim.base) { over(claim) }
      end

      # Its marks count no more than anything else of the incarnation before.
      def over(claim)
        @reading.delete(claim)
        known(claim, :aborted)
      end

      # Lanes that were given up meanwhile are read by nobody.
      def gone = @reading.reject { |claim| @session.current?(claim.lane) }.each { |claim| over(claim) }
    end
  end
end
