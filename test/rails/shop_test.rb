# frozen_string_literal: true

require "test_helper"
require "json"
require "net/http"
require "support/free_port"
require "support/rails_application"

# The example application, examples/rails_shop.
class RailsShopTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  FOLDER = File.join(ROOT, "examples/rails_shop")
  SHOP = File.join(FOLDER, "bin/shop")
  # Of the check itself, a quarter of a minute on an idle machine; and of each process here.
  CHECK_S = 200
  LIMIT_S = 240

  def self.cluster = nil

  def environment = CLEAN.merge("PENSTOCK_RAILS" => VERSION, "SHOP_STORAGE" => @dir, "TMPDIR" => @dir, "PWD" => FOLDER)

  # @return [Served::Process]
  def run_in_shop(*command, **env)
    env = environment.merge(env.transform_keys(&:to_s))
    started(Penstock::TestSupport::Served::Process.new([RbConfig.ruby, *command], dir: @dir, env: env, chdir: FOLDER))
  end

  def shop(*options, **env) = run_in_shop(SHOP, "--no-setup", *options, **env)

  def leftovers = Dir.children(@dir).grep(/rails_shop/)

  test "[rails shop] --check exits with 0: no order is lost or charged twice, although a consuming process is killed" do
    check = shop("--check", "--seconds", CHECK_S.to_s)

    assert_equal 0, check.code(LIMIT_S), check.log
    assert_match(/kill -9 of process \d+, which had charged [1-9]/, check.log)
    assert_match(/36 orders placed, 36 charged, 36 jobs performed, 36 mails sent, sum 3810/, check.log)
    assert_match(/; [1-9]\d* records redelivered/, check.log)
    assert_empty leftovers
  end

  test "[rails shop] a check that can't succeed exits with 1 and the reason, and leaves nothing" do
    check = shop("--check", "--seconds", "0")

    assert_equal 1, check.code(LIMIT_S), check.log
    assert_includes check.log, "shop: waited in vain for this: the web server answers"
    assert_empty leftovers
  end

  test "[rails shop] started by one command, an order is on the page until its mail; Ctrl-C ends everything" do
    port, kafka = Penstock::TestSupport::FreePort.take(2)
    server = shop("--port", port.to_s, KAFKA_BOOTSTRAP_SERVERS: "127.0.0.1:#{kafka}")
    server.await("the web server", LIMIT_S) { !server.ended? && server.log.include?("Use Ctrl-C to stop") }
    Net::HTTP.post(URI("http://127.0.0.1:#{port}/orders.json"), JSON.generate(order: {customer: "ada", total: 1200}),
      "Content-Type" => "application/json")
    server.await("the mail on the page", LIMIT_S) { page(port).include?("<td>ada@customers.example</td>") }
    server.signal(:INT)

    assert_equal 0, server.code(LIMIT_S), server.tail
    assert_match(%r{<td>orders, partition \d, offset 0</td>}, @page)
    assert_raises(Errno::ECONNREFUSED) { TCPSocket.new("127.0.0.1", kafka) }
  end

  test "[rails shop] its own tests pass" do
    tests = run_in_shop("bin/rails", "test")

    assert_equal 0, tests.code(LIMIT_S), tests.log
    assert_match(/\b1[0-9] runs, .* 0 failures, 0 errors, 0 skips/, tests.log)
  end

  test "--help explains it and starts nothing, and a wrong option is refused" do
    help = run_in_shop(SHOP, "--help")
    wrong = run_in_shop(SHOP, "--chekc")

    assert_equal 0, help.code, help.log
    assert_includes help.log, "Usage: bin/shop [options]"
    assert_equal 2, wrong.code, wrong.log
    assert_equal "shop: invalid option: --chekc. See bin/shop --help\n", wrong.log
  end

  private

  def page(port) = @page = Net::HTTP.get(URI("http://127.0.0.1:#{port}/"))
end
