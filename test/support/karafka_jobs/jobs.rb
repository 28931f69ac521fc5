# frozen_string_literal: true

require "bigdecimal"
require "cgi" # global_id doesn't require it
require "json"
require "active_support/all"
require "active_job"
require "global_id"

# Jobs that Karafka's processes and ours exchange. Loaded by both, so nothing here depends on either of them.
module ExchangedJobs
  class Current < ActiveSupport::CurrentAttributes
    attribute :tenant, :limit
  end

  Record = Struct.new(:id) do
    include GlobalID::Identification

    def self.find(id) = new(id)
  end

  # Positional arguments and keywords, of every type that Active Job can serialize without Rails.
  ARGUMENTS = [
    [[1, -2.5, true, false, nil, "", "<b> & ä \u2028 \"\\"], {}],
    [[[1, [2, {"deep" => nil}]], {"text" => 1}, {symbol: :value}, {"any" => 1, :both => 2}.with_indifferent_access], {}],
    [[Date.new(2026, 1, 2), Time.utc(2026, 1, 2, 3, 4, Rational(11, 2)), DateTime.new(2026, 1, 2, 3, 4, 5)], {}],
    [[Time.utc(2026, 7, 2).in_time_zone("UTC"), 3.minutes, 1..4], {}],
    [[BigDecimal("1.50"), :symbol, Comparable, 2**80], {}],
    [[Record.new("4"), [Record.new("5")], {"record" => Record.new("6")}], {}],
    [[], {}],
    [["named"], {on: Date.new(2026, 1, 2), record: Record.new("7"), list: [1, :a]}],
    [[], {only: "named"}]
  ].freeze

  class << self
    # @return [String] path of the file that takes one line per job
    attr_accessor :journal
    # @return [String] the library that performs jobs in this process
    attr_accessor :performer

    # @param library [String]
    # @param journal [String]
    def setup(library, journal)
      @performer, @journal = library, journal
      GlobalID.app = "exchange"
      I18n.available_locales = %i[en de]
      ::ActiveJob::Base.logger = Logger.new(nil)
    end

    # Enqueues one job for each of {ARGUMENTS}, and three at once.
    # @param queue [String]
    def enqueue_all(queue)
      Current.set(tenant: "acme", limit: 7) do
        abroad { ARGUMENTS.each { |list, named| Note.set(queue: queue).perform_later(*list, **named) } }
        ActiveJob.perform_all_later(Array.new(3) { |index| Note.new("many", index).set(queue: queue, priority: 5) })
      end
    end

    def abroad(&) = I18n.with_locale(:de) { Time.use_zone("Europe/Berlin", &) }

    # @return [Array<String>] arguments of the jobs of {enqueue_all}, as the journal has them
    def all_arguments = [*ARGUMENTS, *Array.new(3) { |index| [["many", index], {}] }].map(&:inspect)
  end

  # Writes what it was performed with.
  class Note < ActiveJob::Base
    def perform(*list, **named)
      row = {arguments: [list, named].inspect, performer: ExchangedJobs.performer, job_id: job_id, queue: queue_name,
             executions: executions, locale: I18n.locale, zone: Time.zone&.name, priority: priority, tenant: Current.tenant,
             limit: Current.limit}
      File.write(ExchangedJobs.journal, "#{JSON.generate(row)}\n", mode: "a")
    end
  end

  # Fails in the process of one library and is enqueued again for the other one, whose queue is its argument.
  class Moving < Note
    retry_on(IOError, attempts: 2, wait: 0, jitter: 0)

    def perform(queue)
      super
      return if executions > 1

      self.queue_name = queue
      raise IOError, "once"
    end
  end
end
