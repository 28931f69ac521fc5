# frozen_string_literal: true

require "test_helper"
require "penstock/application"
require "penstock/application/own_producer"
require "penstock/instrumentation/monitor"
require "penstock/server/lifecycle"

module Penstock
  class OwnProducerTest < TestCase
    Producer = Struct.new(:id, :monitor, :middleware, :closed, :properties, :queued, :flushed, :user, :config) do
      def use = self.user = ::Process.pid
      def transactional? = !config.nil?
      def queue_size = [nil, ::Process.pid].include?(user) ? queued : raise(ForkedHandleError, "opened by process #{user}")
      def flush(timeout_ms) = self.flushed = timeout_ms
      def closed? = closed || false
      def close(timeout_ms:) = (self.closed = timeout_ms)
      def reconfigure(properties) = self.properties = properties
    end
    Config = Struct.new(:producer)
    Settings = Struct.new(:kafka)

    # Builds doubles, and records how.
    class Factory
      attr_reader :built

      def initialize = @built = []
      def settings = Settings.new({"client.id": "node-1", **transactional})
      def transactional = @transactional_id ? {"transactional.id": @transactional_id.call} : {}
      def transactional_id(&block) = @transactional_id = block
      def wrap(producer) = producer

      def build(errors_reported: false)
        one = Producer.new("p#{@built.size}", :monitor, :middleware)
        one.config = settings if @transactional_id
        yield one if block_given?
        @built << [one, errors_reported]
        one
      end
    end

    def setup
      super
      @errors = []
      @monitor = Instrumentation::Monitor.new
      @monitor.subscribe("error.occurred") { |event| @errors << [event[:type], event[:producer_id]] }
      @config = Config.new
      @factory = Factory.new
      @states = []
      @lifecycle = Server::Lifecycle.new(->(state) { @states << [state, @own.get.id] })
      @own = Application::OwnProducer.new(config: -> { @config }, monitor: -> { @monitor }, factory: @factory,
        lifecycle: @lifecycle)
    end

    test "the producer is created on first use, once, and closed within the time given" do
      assert_same @own.get, @own.get
      assert_equal 1, @factory.built.size
      @own.close(300)

      assert_equal 300, @own.get.closed
    end

    test "the first use ends the setup, once, and a listener may use the producer" do
      2.times { @own.get }
      assert_equal [[[:initialized, "p0"]], 1], [@states, @factory.built.size]
    end

    test "the setup isn't ended by a use that fails because of the settings, nor in a process that inherited it" do
      wrong = Application::OwnProducer.new(config: -> { raise ConfigurationError, "wrong" }, monitor: -> { @monitor },
        factory: @factory, lifecycle: @lifecycle)
      assert_raises(ConfigurationError) { wrong.get }
      assert_predicate @lifecycle, :initializing?
      assert @lifecycle.skip_to(:initialized)
      @own.get
      assert_empty @states
    end

    test "at the end of a process only a producer that was created in it is closed" do
      @own.close_here(300)
      assert_empty @factory.built
      one = @own.get
      reader, writer = IO.pipe
      pid = fork do
        @own.close_here(300)
        writer.write(one.closed.inspect)
        exit!(0)
      end
      ::Process.wait(pid)
      writer.close
      assert_equal "nil", reader.read
      reader.close
      @own.close_here(300)

      assert_equal 300, one.closed
    end

    # @yieldreturn [Object]
    # @return [String] what `inspect` has for it in the child, or its error's message
    def in_child
      reader, writer = IO.pipe
      pid = fork do
        writer.write(yield.inspect)
      rescue ForkedHandleError => error
        writer.write(error.message)
      ensure
        exit!(0)
      end
      ::Process.wait(pid)
      writer.close
      reader.read
    ensure
      [reader, writer].each(&:close)
    end

    test "a producer that was used before a fork stays the parent's; the child has one of its own, with the same listeners" do
      parents = @own.get
      parents.use
      parents.monitor, parents.middleware = :theirs, :steps
      child = in_child do
        all = Array.new(4) { Thread.new { @own.get } }.map(&:value).uniq(&:object_id)
        one = all.first.tap(&:use)
        @own.close_here(300)
        [all.size, one.equal?(parents), one.monitor, one.middleware, one.closed, parents.closed,
          @factory.built.last.last, @errors]
      end

      assert_equal [1, false, :theirs, :steps, 300, nil, true, []].inspect, child
      assert_same parents, @own.get
    end

    test "a producer that was only created before a fork is the child's, too, which closes it at its end" do
      one = @own.get
      assert_equal "[true, 300]", in_child { [@own.get.equal?(one), @own.close_here(300) && one.closed] }
    end

    test "a child of a process that has closed its producer gets one of its own, and reports nothing, also if that consumes" do
      one = @own.get
      one.close(timeout_ms: 1)
      assert_equal "false", in_child { @own.get.equal?(one) }
      @own.consuming
      assert_equal "[false, []]", in_child { [@own.get.equal?(one), @errors] }
    end

    test "a child isn't given a producer that would fence its parent's, but one with another transactional.id" do
      @factory.transactional_id { "orders" }
      @own.get.use
      text = /used by process #{::Process.pid} before .* same transactional\.id, "orders": .* in a block of config\.producer/
      assert_match text, in_child { @own.get }
      @factory.transactional_id { "orders-#{::Process.pid}" }
      assert_match(/\A"orders-\d+"\z/, in_child { @own.get.config.kafka[:"transactional.id"] })
      @factory.transactional_id { "orders" }
      @own.close(1)
      assert_equal '"orders"', in_child { @own.get.config.kafka[:"transactional.id"] }
    end

    test "a producer that was given to the application and used before a fork has to be replaced by another one" do
      @config.producer = Producer.new("given")
      @own.get.use
      assert_match(/config\.producer was set to .* Set another one in the child/, in_child { @own.get })
      assert_equal '"other"', in_child {
        begin
          @own.get
        rescue ForkedHandleError
          @config.producer = Producer.new("other")
        end
        @own.get.id
      }
      assert_equal '["p0", :monitor]', in_child {
        @config.producer = nil
        [@own.get.id, @own.get.monitor]
      }
    end

    test "a producer that is closed while the application consumes is replaced, reported, and passes on its monitor" do
      first = @own.get
      first.monitor, first.middleware = :theirs, :steps
      @own.consuming
      first.close(timeout_ms: 1)
      second = @own.replacement(first)

      refute_same first, second
      assert_equal [:theirs, :steps, true], [second.monitor, second.middleware, @factory.built.last.last]
      assert_equal [["producer.closed.error", "p0"]], @errors
      assert_same second, @own.replacement(first)
      assert_nil @own.replacement(second)
      assert_nil @own.replacement(Producer.new("stranger"))
    end

    test "a closed producer isn't replaced before the application consumes, nor after the application has closed it" do
      first = @own.get
      first.close(timeout_ms: 1)
      assert_same first, @own.get
      @own.consuming
      @own.close(1)

      assert_equal [first, []], [@own.get, @errors]
    end

    test "a producer that stays is flushed when the application closes, if it has messages, and then used as before" do
      @own.consuming(stays: true)
      @own.finish(300)
      one = @own.get
      @own.finish(200)
      assert_nil one.flushed
      one.queued = 1
      @own.finish(300)

      assert_equal [300, nil, one], [one.flushed, one.closed, @own.get]
    end

    test "a producer that stays and that the host's code has closed is left as it is" do
      @own.consuming(stays: true)
      one = @own.get
      one.queued = 1
      one.define_singleton_method(:flush) { |_| raise ProducerClosedError, "closed" }
      @own.finish(300)

      assert_same one, @own.get
    end

    test "a producer that was given to the application is neither replaced nor reconfigured" do
      @config.producer = Producer.new("given")
      @own.consuming
      @own.get.close(timeout_ms: 1)
      @own.reconfigure

      assert_same @config.producer, @own.get
      assert_equal [nil, []], [@config.producer.properties, @factory.built]
    end

    test "a node gives its own properties to a producer that the boot file has created" do
      @own.reconfigure
      assert_empty @factory.built
      @own.get
      @own.reconfigure

      assert_equal({"client.id": "node-1"}, @own.get.properties)
    end
  end
end
