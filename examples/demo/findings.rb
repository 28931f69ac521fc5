# frozen_string_literal: true

require_relative "journal_reader"

module Demo
  # Computes the figures of the report from all journals. Pure: journals in, numbers out.
  #
  # * produced: orders whose delivery the broker acknowledged to the producer.
  # * processed: different orders with at least one finished run in any consumer's journal.
  # * lost: produced, and no finished run anywhere.
  # * duplicated: finished runs beyond the first of an order. After `kill -9` they are allowed for orders that the killed
  #   process had finished within its last commit interval + 1 s, and for orders above the last offset that a process could
  #   commit before its partition was revoked while the broker refused its commit; any other is unexplained.
  # * out of order: orders that (a) began for the first time before all orders below them in their partition had been
  #   finished once, by any process, or (b) come after a higher offset of their partition in the same process's
  #   journal. An order that fails both counts once.
  # * foreign: finished runs of an order that was never produced, or not at that partition and offset.
  class Findings
    Order = Struct.new(:partition, :offset, :sent_ns)
    Run = Struct.new(:id, :partition, :offset, :began_ns, :ended_ns, :process)

    GRACE_NS = 1_000_000_000

    # @param journals [Array<JournalReader>]
    def initialize(journals)
      @journals = journals
      @orders = journals.flat_map { |journal| journal.all("produced") }
        .to_h { |id, partition, offset, sent| [id, Order.new(Integer(partition), Integer(offset), Integer(sent))] }
      @runs = journals.flat_map { |journal| runs_of(journal) }
      @runs_by_id = @runs.group_by(&:id)
      @killed = journals.flat_map { |journal| journal.all("killed") }.map(&:first)
    end

    # @return [Integer] orders that the demo should produce
    def expected
      Integer(run_line[0])
    end

    def produced
      @orders.size
    end

    # Produces that certainly failed, or whose outcome is unknown.
    def undelivered
      @journals.sum { |journal| journal.all("undelivered").size }
    end

    def processed
      @runs_by_id.size
    end

    def runs
      @runs.size
    end

    def lost
      @orders.keys.count { |id| !@runs_by_id.key?(id) }
    end

    def duplicated
      runs - processed
    end

    # Runs that were repeated although their process was not killed, or had committed them long before.
    def unexplained
      repeated.count { |run| run.ended_ns < uncommitted_since(run.process) && !refused?(run) }
    end

    # Runs that were repeated because the broker refused the last commit before a partition was revoked.
    def refused
      repeated.count { |run| refused?(run) }
    end

    def foreign
      @runs.count do |run|
        order = @orders[run.id]
        order.nil? || order.partition != run.partition || order.offset != run.offset
      end
    end

    def out_of_order
      (overtaken + stepped_back).uniq.size
    end

    def damaged
      @journals.sum(&:damaged)
    end

    def missing
      @journals.sum(&:missing)
    end

    def lines
      @journals.sum { |journal| journal.lines.size }
    end

    # @return [Array<String>] processes without an end in their journal that were not killed
    def vanished
      @journals.reject { |journal| journal.ended? || @killed.include?(journal.name) }.map(&:name)
    end

    # @return [Array<String>] processes that ended with another exit code than 0
    def failed
      @journals.flat_map { |journal| journal.all("exited") }.reject { |_, code| code == "0" }
        .map { |name, code| "#{name} ended with exit code #{code}" }
    end

    # @return [Array<String>] processes killed on purpose
    attr_reader :killed

    # @return [Array<Float>] milliseconds from the producer's call to the end of the order's first run, sorted
    def latencies_ms
      @latencies_ms ||= first_runs.filter_map do |id, run|
        order = @orders[id]
        (run.ended_ns - order.sent_ns) / 1e6 if order
      end.sort
    end

    # @return [Array<Float>] the same for orders finished before the first kill
    def calm_latencies_ms
      kill_ns = @journals.flat_map { |journal| journal.all("killed") }.map { |_, at| Integer(at) }.min
      return latencies_ms unless kill_ns

      calm = first_runs.select { |id, run| run.ended_ns < kill_ns && @orders.key?(id) }
      calm.map { |id, run| (run.ended_ns - @orders[id].sent_ns) / 1e6 }.sort
    end

    # @return [Float] orders processed a second, from the first one's begin to the last one's end, the kill included
    def rate
      return 0.0 if @runs.empty?

      span_ns = @runs.map(&:ended_ns).max - @runs.map(&:began_ns).min
      processed / [span_ns / 1e9, 1e-9].max
    end

    private

    def run_line
      @journals.flat_map { |journal| journal.all("run") }.first || ["-1", "0"]
    end

    def commit_interval_ns
      Integer(run_line[1]) * 1_000_000
    end

    def runs_of(journal)
      journal.all("done").map do |id, partition, offset, began, ended|
        Run.new(id, Integer(partition), Integer(offset), Integer(began), Integer(ended), journal.name)
      end
    end

    # All runs of an order except the last.
    def repeated
      @repeated ||= @runs_by_id.each_value.reject(&:one?).flat_map { |runs| runs.sort_by(&:ended_ns)[0..-2] }
    end

    def refused?(run)
      from = refused_from[[run.process, run.partition]]
      !from.nil? && run.offset >= from
    end

    # @return [Hash{Array(String, Integer) => Integer}] by process and partition: the lowest offset that was last committed before
    #   a refusal
    def refused_from
      @refused_from ||= @journals.each_with_object({}) do |journal, found|
        committed = Hash.new(0)
        journal.lines.each do |line|
          case line.event
          when "committed" then committed[Integer(line.fields[0])] = Integer(line.fields[1])
          when "refused"
            partition = Integer(line.fields[0])
            found[[journal.name, partition]] ||= committed[partition]
          end
        end
      end
    end

    def first_runs
      @first_runs ||= @runs_by_id.transform_values { |runs| runs.min_by(&:ended_ns) }
    end

    # Orders that a killed process finished after this time may be uncommitted. Infinity for all others.
    def uncommitted_since(process)
      @uncommitted_since ||= Hash.new do |known, name|
        last = @runs.select { |run| run.process == name }.map(&:ended_ns).max
        known[name] = @killed.include?(name) ? last - commit_interval_ns - GRACE_NS : Float::INFINITY
      end
      @uncommitted_since[process]
    end

    # (a): within a partition, over all processes.
    def overtaken
      @runs.group_by(&:partition).flat_map do |_, runs|
        latest_end = 0
        runs.group_by(&:offset).sort.filter_map do |offset, same|
          early = same.map(&:began_ns).min < latest_end
          latest_end = [latest_end, same.map(&:ended_ns).min].max
          [same.first.partition, offset] if early
        end
      end
    end

    # (b): within a partition and a process, in the order of its journal.
    def stepped_back
      @runs.group_by { |run| [run.process, run.partition] }.flat_map do |_, runs|
        runs.each_cons(2).filter_map { |before, after| [after.partition, after.offset] if after.offset <= before.offset }
      end
    end
  end
end
