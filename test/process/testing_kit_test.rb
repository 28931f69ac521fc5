# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require_relative "../support/ruby_program"

# The testing kit as applications use it: suites of RSpec and Minitest, each in a process of its own.
class TestingKitTest < Penstock::TestCase
  SUITES = File.expand_path("../support/testing_kit", __dir__)
  RSPEC = 'require "rspec/core"; exit RSpec::Core::Runner.run(["--no-color", "--format", "json", "--out", ARGV[1], ARGV[0]])'

  # @return [(Hash, String)] RSpec's report, and everything that was printed
  def rspec(name, **env)
    Dir.mktmpdir do |folder|
      report = File.join(folder, "report.json")
      output, = Penstock::TestSupport::RubyProgram.run(RSPEC, File.join(SUITES, "#{name}_spec.rb"), report, env: env, timeout: 60)
      [JSON.parse(File.exist?(report) ? File.read(report) : flunk(output)), output]
    end
  end

  # @return [String] what was printed
  def minitest(name, code = "load ARGV.first", **env)
    file = File.join(SUITES, "#{name}_minitest.rb")
    Penstock::TestSupport::RubyProgram.run(code, file, env: env, timeout: 60).first
  end

  def messages_of(report)
    report["examples"].select { |example| example["status"] == "failed" }
      .to_h { |example| [example["description"], example.dig("exception", "message").strip] }
  end

  test "[testing helpers] Karafka's testing guide for RSpec, with names changed, works section by section" do
    report, output = rspec("guide")

    assert_equal({}, messages_of(report), output)
    assert_equal 17, report["summary"]["example_count"]
  end

  test "[Minitest parity] Karafka's testing guide for Minitest, with names changed, works section by section" do
    assert_match(/^8 runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/, minitest("guide"))
  end

  test "[testing helpers] the kit in RSpec: matchers compose with those of RSpec, examples begin empty" do
    report, output = rspec("kit")

    assert_equal({}, messages_of(report), output)
    assert_equal 8, report["summary"]["example_count"]
    refute_match(/warn/i, output)
  end

  test "[testing helpers] failures in RSpec show what was produced and done" do
    found = messages_of(rspec("kit", "FAILING" => "1").first)

    assert_equal "expected a message to invoices with key \"43\", but the only message that was produced differs:\n  " \
      "invoices/0 key " \
      "\"42\" payload \"{\"total\":12}\" (not the key)", found["produced"]
    assert_equal "expected no message to invoices, but 1 of 1 message matches:\n  invoices/0 key \"42\" payload " \
      "\"{\"total\":12}\"",
      found["not produced"]
    assert_equal "expected the consumer OrdersConsumer of orders/0 to have paused, but it has paused nothing", found["composed"]
    assert_equal "expected the consumer OrdersConsumer of orders/0 to have dead-lettered offset 0, but it has " \
      "dead-lettered nothing",
      found["dead-lettered"]
  end

  test "[Minitest parity] the kit in Minitest: assertions, and tests in threads that see only their own messages" do
    assert_match(/^22 runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/, minitest("kit"))
  end

  test "[Minitest parity] failures in Minitest show what was produced and done" do
    output = minitest("kit", "FAILING" => "1")

    assert_match(/^29 runs, \d+ assertions, 7 failures, 0 errors, 0 skips$/, output)
    [/^expected a message to invoices with key "43", but the only message .* differs:\n  invoices\/0 key "42" .* \(not the key\)/,
      /^expected no message to invoices, but 1 of 1 message matches:\n  invoices\/0 key "42"/,
      /^expected the consumer OrdersConsumer of orders\/0 to have marked offset 1, but it has marked:\n  offset 0\n/,
      /^expected the consumer OrdersConsumer of orders\/0 not to have marked offset 0, but it has marked:\n  offset 0\n/,
      /^expected .* to have paused, but it has paused nothing$/, /^expected .* to have sought 3, but it has sought nothing$/,
      /^expected .* to have dead-lettered offset 0, but it has dead-lettered nothing$/].each { |text|
      assert_match text, output
    }
  end

  test "without RSpec, an error names the gem" do
    missing = <<~RUBY
      def require(name) = (name == "rspec/core") ? raise(LoadError.new("no").tap { |error| error.define_singleton_method(:path) { name } }) : super
      require "penstock/testing/rspec"
    RUBY
    output, = Penstock::TestSupport::RubyProgram.run(missing)

    assert_match(/the testing kit for RSpec needs RSpec: add `gem "rspec"` to the group :test of the Gemfile \(LoadError\)/,
      output)
  end

  test "[Isolation] consumers run inside of transactional fixtures, on the thread of the test" do
    Dir.mktmpdir do |folder|
      output = minitest("fixtures", "DATABASE" => File.join(folder, "db.sqlite3"))

      assert_match(/^3 runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/, output)
      assert_match(/^rows left: 0$/, output)
    end
  end

  FORKED = <<~'RUBY'
    require "minitest"
    Minitest.singleton_class.define_method(:autorun) {} # each child runs the tests itself
    load ARGV.first
    children = Array.new(3) do |number|
      reader, writer = IO.pipe
      child = fork do
        cluster = Penstock::Testing.cluster
        name = cluster.unique_topic("orders", partitions: 2)
        writer.puts [cluster.equal?(Penstock::Testing.cluster), cluster.pid, name, cluster.topics[name]].join(" ")
        writer.close
        exit Minitest.run([])
      end
      writer.close
      [child, reader.read]
    end
    children.each { |child, said| puts "#{said.chomp} #{Process.wait2(child).last.exitstatus}" }
    puts "parent #{Penstock::Testing.cluster.pid}"
  RUBY

  test "[Isolation] forked processes see their own messages, and each has a broker that ends with it" do
    output = minitest("kit", FORKED)
    lines = output.scan(/^true (\d+) (orders-\h{8}) 2 0$/)

    assert_equal [3, 3, 3], [lines.size, lines.map(&:first).uniq.size, lines.map(&:last).uniq.size], output
    assert_equal 3, output.scan(/^22 runs, \d+ assertions, 0 failures, 0 errors/).size, output
    brokers = [*lines.map(&:first), output[/^parent (\d+)$/, 1]].map { |pid| Integer(pid) }
    assert_equal 4, brokers.uniq.size
    wait_until(10, "the brokers to end") { brokers.none? { |pid| running?(pid) } }
  end

  def running?(pid)
    Process.kill(0, pid)
  rescue Errno::ESRCH
    false
  end
end
