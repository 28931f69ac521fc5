# frozen_string_literal: true

module RailsShop
  # Compares what happened in the shop with the orders that were placed.
  class Verdict
    # @param placed [Array<Hash>] orders, as the shop answered
    # @param history [Hash] `GET /history.json`
    def initialize(placed, history)
      @placed = placed
      @history = history
    end

    # @return [Boolean] whether nothing is under way any more
    def finished? = @history["waiting"].zero? && (ids - ids_of("mailed jobs")).empty?

    # @return [Array<String>] sentences; empty if everything is right
    def problems
      one_each("orders") + one_each("payments") + one_each("mailed jobs") + one_each("mails") + sums + order
    end

    # @return [Array<Hash>] events of records that were delivered again
    def redelivered = @history["events"].select { |event| event["outcome"] == "redelivered" }

    # @return [String]
    def summary
      "#{@placed.size} orders placed, #{@history["payments"].size} charged, #{ids_of("mailed jobs").size} jobs performed, " \
        "#{@history["mails"].size} mails sent, sum #{total}; #{redelivered.size} records redelivered, " \
        "#{@history["jobs"].size - ids_of("mailed jobs").size} jobs performed again"
    end

    private

    def ids = @placed.map { |order| order["id"] }

    def total = @placed.sum { |order| order["total"] }

    # @return [Array<Integer>] an order's id for each
    def ids_of(what)
      case what
      when "orders" then @history["orders"].map { |order| order["id"] }
      when "mailed jobs" then @history["jobs"].filter_map { |job| job["order_id"] if job["outcome"] == "mailed" }
      when "mails" then @history["mails"].map { |mail| mail["message_id"][/\d+/].to_i }
      else @history[what].map { |row| row["order_id"] }
      end
    end

    def one_each(what)
      found = ids_of(what).tally
      repeated = found.select { |_id, times| times > 1 }.keys
      [problem(what, "missing for", ids - found.keys), problem(what, "more than one for", repeated),
        problem(what, "not placed:", found.keys - ids)].compact
    end

    def problem(what, words, ids)
      "#{what}: #{words} order #{ids.first(10).join(", ")}#{" …" if ids.size > 10} (#{ids.size} in all)" if ids.any?
    end

    def sums
      wrong = @history["totals"].reject { |_name, cents| cents == total }
      wrong.map { |name, cents| "sums: orders of #{total} cents were placed, #{cents} #{name}" }
    end

    # The orders of a customer are charged in the order in which they were placed.
    def order
      charged = @history["events"].select { |event| event["outcome"] == "charged" }
      wrong = charged.group_by { |event| event["key"] }.reject do |_customer, events|
        events.map { |event| event["order_id"] }.each_cons(2).all? { |first, second| first < second }
      end
      wrong.keys.map { |customer| "order: the orders of #{customer} were charged out of order" }
    end
  end
end
