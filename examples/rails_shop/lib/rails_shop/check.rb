# frozen_string_literal: true

require "tmpdir"
require_relative "child"
require_relative "client"
require_relative "verdict"

module RailsShop
  # `bin/shop --check`: a process that consumes is killed, and nothing is lost or done twice. It is a second one, because the
  # first has the broker.
  class Check
    # Enough for keys in each partition of the topic orders.
    CUSTOMERS = %w[ada ben cleo dora emil fay gus hana ivan jo kim lea].freeze
    # Of the process that is killed. It commits nothing before that: what it consumed is delivered again. The others are the
    # settings that the embedded broker needs: the partitions soon move to the other process.
    PROPERTIES = {"auto.commit.interval.ms": 3_600_000, "session.timeout.ms": 2_000, "heartbeat.interval.ms": 300,
                  "fetch.wait.max.ms": 10}.freeze
    INTERVAL_S = 0.1
    STOP_S = 60
    private_constant :PROPERTIES, :INTERVAL_S, :STOP_S

    # @param seconds [Numeric] time limit, without the stop
    def initialize(seconds:, out: $stdout)
      @seconds = seconds
      @out = out
      @children = []
      @placed = []
    end

    # @return [Integer] exit code
    # @raise [Failed]
    def call
      @deadline = now + @seconds
      Dir.mktmpdir("rails_shop") do |folder|
        start_shop(folder)
        kill_in_between
        verify
        stop
      ensure
        kill_all
      end
      0
    end

    private

    def start_shop(folder)
      @folder = folder
      port = Processes.free_port
      @shop = Processes.new(storage: folder, port: port)
      @client = Client.new(port)
      @shop.create_database
      @web = start("web server", @shop.environment, @shop.web)
      await("the web server answers") { @client.open? }
      await("the broker that Puma's plugin starts") { listening? }
      report "the web server answers; the broker listens at #{@shop.kafka}"
    end

    def kill_in_between
      other = start("second consumer process", @shop.environment(PROPERTIES), @shop.consumers)
      await("a partition of orders for the second consumer process") { other.log.match?(/assigned .*\borders \d/) }
      place(2)
      await("the second consumer process charges an order") { charged_by(other.pid).any? }
      @children.delete(other)
      kill(other)
      report "kill -9 of process #{other.pid}, which had charged #{charged_by(other.pid).size} orders and committed none"
      place(1)
    end

    def verify
      await("all orders are charged and their receipts mailed", state: -> { verdict.problems.join("\n") }) { verdict.finished? }
      problems = verdict.problems
      problems << "no record was delivered again after the kill" if verdict.redelivered.empty?
      problems << "the page doesn't show that records were redelivered" unless @client.page.include?(">redelivered<")
      raise Failed, problems.join("\n") if problems.any?
      report verdict.summary
    end

    def stop
      pids = @client.history["events"].map { |event| event["process"] }.uniq
      @web.signal(:INT)
      @children.clear
      @deadline = now + STOP_S
      await("the web server's end", state: -> { @web.tail }) { @web.status }
      raise Failed, "the web server ended with #{@web.status}. The end of its log:\n#{@web.tail}" unless @web.status.success?
      await("the end of broker and consumers, #{pids.join(", ")}") { !listening? && pids.none? { |pid| alive?(pid) } }
      report "all processes have ended"
    end

    def place(times)
      times.times do |round|
        CUSTOMERS.each_with_index { |customer, index| @placed << @client.place(customer: customer, total: 100 + index + round) }
      end
    end

    def verdict = Verdict.new(@placed, @client.history)

    def charged_by(pid)
      @client.history["events"].select { |event| event["process"] == pid && event["outcome"] == "charged" }
    end

    def start(name, environment, command)
      Child.new(name, environment, command, log: File.join(@folder, "#{name}.log")).tap { |child| @children << child }
    end

    def kill(child)
      child.signal(:KILL)
      await("the end of process #{child.pid}") { child.status }
    end

    # Consumers and broker stop when Puma has ended.
    def kill_all = @children.each { |child| child.signal(:KILL) }

    def alive?(pid)
      Process.kill(0, pid)
    rescue Errno::ESRCH
      false
    end

    def listening?
      host, port = @shop.kafka.split(":")
      Socket.tcp(host, Integer(port), connect_timeout: 1, &:close)
      true
    rescue SystemCallError
      false
    end

    def await(what, state: nil)
      until yield
        @children.each(&:check!)
        raise Failed, "waited in vain for this: #{what}\n#{state&.call}" if now > @deadline
        sleep(INTERVAL_S)
      end
    end

    def report(text)
      @out.puts "check: #{text}"
      @out.flush
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
