# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../native/envelope"
require_relative "../../native/kafka_error"
require_relative "../../native/ledger"
require_relative "../failure"

module Penstock
  module CLI
    module Dead
      # Remembers which dead letters were replayed or dropped. Stored as consumers store their progress: committed
      # offsets with a ledger in their metadata, in a group of its own. Kafka has no way to delete a single message.
      #
      # Several commands may run at the same time, and Kafka can't make a commit depend on the one before it. So {#save} adds its
      # letters to what is committed at that moment, and looks a little later whether they are still there. A command can only
      # undo another one's commit if it takes longer than that pause from its read to its write.
      class Handled
        GROUP = "penstock-dead"
        # How often a commit is repeated that other commands have overwritten.
        TRIES = 10
        # Different each time, so that commands that met don't meet again.
        PAUSE = -> { sleep(rand(0.2..0.4)) }
        private_constant :TRIES, :PAUSE

        # @param admin [Admin]
        # @param topic [String]
        # @param bounds [Hash{Integer => Array(Integer, Integer)}] first offset and end of each partition
        # @param pause [#call] waits before a commit is looked at again
        def initialize(admin, topic, bounds, pause: PAUSE)
          @topic = topic
          @ledgers = read(admin, bounds)
          @added = {}
          @unwritten = {}
          @pause = pause
          @gaps = Hash.new { |gaps, partition| gaps[partition] = {} }
          @after = bounds.transform_values(&:first)
        end

        # @param letter [Message, Letter]
        # @return [Boolean]
        def include?(letter) = @ledgers.fetch(letter.partition).complete?(letter.offset)

        # Called for each record of a partition, in their order, before letters are added. The offsets between two records belong
        # to nothing that could be handled (the markers of transactions, aborted or compacted records), so they count as handled
        # where the record before them is: letters that were written in transactions would be scattered otherwise.
        # @param record [Message]
        # @param kept [Boolean] whether it was handled already, or may be added
        # @return [void]
        def passed(record, kept)
          partition, offset = record.partition, record.offset
          from = @after[partition]
          @gaps[partition][from] = offset if from && from < offset
          @after[partition] = (offset + 1 if kept)
        end

        # @param letter [Letter]
        def add(letter)
          @ledgers.fetch(letter.partition).complete(letter.offset)
          [@added, @unwritten].each { |offsets| (offsets[letter.partition] ||= []) << letter.offset }
        end

        # @return [Boolean] whether letters were added that are not yet seen to be stored
        def added? = @added.any?

        # @return [Hash{Integer => Array<Integer>}] offsets by partition of added letters that may be in no commit
        attr_reader :unwritten

        # Commits what is already known of the letters' partitions: an error shows before anything is sent that couldn't be
        # recorded afterwards.
        # @param admin [Admin]
        # @param letters [Array<Letter>]
        # @raise [KafkaError]
        # @raise [WaitTimeoutError]
        def try_commit(admin, letters)
          write(admin, letters.to_h { |letter| [letter.partition, []] }) if letters.any?
        rescue KafkaError => error
          raise unless error.code == :timed_out

          raise WaitTimeoutError, "no answer to a commit of #{GROUP}, so nothing was sent: it couldn't be recorded"
        end

        # @param admin [Admin]
        # @param letters [Array<Letter>] in their order
        # @return [Array<Letter>] those that a commit has room for, next to what is handled already: of each partition the first
        #   ones
        def recordable(admin, letters)
          chosen = letters.group_by(&:partition)
          answered do
            _bounds, ledgers = current(admin, chosen.to_h { |partition, _some| [partition, @added.fetch(partition, [])] })
            chosen.flat_map { |partition, some| some.first(room(ledgers.fetch(partition), partition, some.map(&:offset))) }
          end
        end

        # @param partition [Integer]
        # @return [String] why a letter isn't {#recordable}, and the way out
        def too_scattered(partition)
          "it couldn't be recorded that it was, because the handled letters of #{@topic}/#{partition} are too scattered: first " \
            "replay or drop the oldest letters of this partition, also those that this selection leaves out"
        end

        # Commits the added letters, with those that other commands have added. {#save} must follow: this doesn't look whether
        # they stay.
        # @param admin [Admin]
        # @raise (see #save)
        def store(admin) = answered { write_added(admin) if @added.any? }

        # Commits the added letters until they are seen to be stored.
        # @param admin [Admin]
        # @raise [KafkaError]
        # @raise [WaitTimeoutError] it isn't known whether they are stored
        def save(admin)
          TRIES.times do
            return if @added.empty?

            answered do
              bounds = write_added(admin)
              @pause.call
              forget_stored(read(admin, bounds), bounds)
            end
          end
          raise WaitTimeoutError, lost if @added.any?
        end

        private

        def answered
          yield
        rescue KafkaError => error
          raise unless error.code == :timed_out

          raise WaitTimeoutError, "no answer to the commit of #{GROUP}: handled letters may still be listed"
        end

        # @return [Hash{Integer => Native::Ledger}] by partition
        def read(admin, bounds)
          committed = admin.read_committed_offsets(GROUP, {@topic => bounds.keys}, stable: true)
            .to_h { |row| [row[:partition], row] }
          bounds.to_h { |partition, ends| [partition, ledger(committed[partition], ends)] }
        end

        # Offsets below the first one of the partition no longer exist.
        def ledger(row, ends)
          low, high = ends
          base = [row && row[:offset], low].compact.max
          Native::Ledger.new(base).tap do |ledger|
            ledger.admit(base, [high, base].max, nil)
            stored(row).each { |from, to| ledger.complete_many(([from, base].max...[to, high].min).to_a) }
          end
        end

        def stored(row)
          return [] unless row && row[:offset]

          Native::Envelope.decode(row[:metadata], base: row[:offset], topic: @topic).completed
        end

        def write_added(admin) = write(admin, @added).tap { @unwritten = {} }

        # @param added [Hash{Integer => Array<Integer>}]
        # @return [Hash{Integer => Array(Integer, Integer)}] the bounds of the partitions
        def write(admin, added)
          bounds, ledgers = current(admin, added)
          admin.write_committed_offsets(GROUP, ledgers.map { |partition, ledger| row(partition, ledger) })
          bounds
        end

        # The ends of now: other commands may have handled letters that weren't there when this one read the list.
        # @param added [Hash{Integer => Array<Integer>}] what is handled, too
        # @return [Array(Hash{Integer => Array(Integer, Integer)}, Hash{Integer => Native::Ledger})] bounds and ledgers
        def current(admin, added)
          bounds = admin.read_watermark_offsets({@topic => added.keys}).fetch(@topic)
          ledgers = read(admin, bounds)
          added.each { |partition, offsets| complete(ledgers.fetch(partition), partition, present(offsets, bounds[partition])) }
          [bounds, ledgers]
        end

        # @return [Native::Ledger]
        def complete(ledger, partition, offsets)
          ledger.complete_many(offsets)
          @gaps.fetch(partition, {}).each do |from, to|
            next if to <= ledger.base || !ledger.complete?(from - 1)

            ledger.complete_many((from...[to, ledger.tail].min).to_a)
          end
          ledger
        end

        # @return [Integer] how many of the offsets, from the first one on, can be committed together: usually all
        def room(ledger, partition, offsets)
          fits = ->(count) { encode(complete(ledger.dup, partition, offsets.first(count))).whole? }
          return offsets.size if fits.call(offsets.size)

          (1...offsets.size).bsearch { |count| !fits.call(count) }.then { |count| (count || offsets.size) - 1 }
        end

        def forget_stored(ledgers, bounds)
          @added.each do |partition, offsets|
            @added[partition] = present(offsets, bounds[partition]).reject { |one| ledgers.fetch(partition).complete?(one) }
          end
          @added.reject! { |_partition, offsets| offsets.empty? }
          @unwritten = @added.transform_values(&:dup)
        end

        # @return [Array<Integer>] those that retention has not removed meanwhile
        def present(offsets, ends) = offsets.select { |offset| offset.between?(ends.first, ends.last - 1) }

        def row(partition, ledger)
          {topic: @topic, partition: partition, offset: ledger.base, metadata: metadata(ledger, partition)}
        end

        def metadata(ledger, partition)
          written = encode(ledger)
          return written.text if written.whole?

          raise Usage, "#{@topic}/#{partition}: the handled letters are too scattered to be stored completely " \
            "(#{written.left_out_offsets} letters too many); handle the oldest letters first"
        end

        def encode(ledger) = Native::Envelope.write(base: ledger.base, topic: @topic, clean: true, completed: ledger)

        def lost
          places = @added.map { |partition, offsets| "#{@topic}/#{partition}: #{offsets.size}" }.join(", ")
          "other commands have overwritten the commits of #{GROUP} #{TRIES} times: handled letters are still listed " \
            "(#{places}). Run one penstock dead replay or drop of this topic at a time"
        end
      end
    end
  end
end
