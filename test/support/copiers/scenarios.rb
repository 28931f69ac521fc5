# frozen_string_literal: true

require_relative "../copiers"

module Penstock
  # Faults of processes that copy in transactions. The class that includes it defines `bootstrap_servers` and `unique`.
  module CopiersScenarios
    def teardown
      @copiers&.close
      super
    end

    def copiers(**options) = @copiers = TestSupport::Copiers.new(bootstrap_servers, unique("copy"), **options)

    # Each life of the process ends at one of the points, in one of its first transactions; the last life ends in order.
    def killed_at_each_point(rounds:, by: nil)
      copiers(by: by).feed(60)
      TestSupport::Copiers::POINTS.cycle(rounds) do |point|
        @copiers.await_end(@copiers.start("one", point: point, how: "KILL", after: rand(1..6)))
        @copiers.feed(20)
      end
      finish(@copiers.start("one"))
    end

    # The process is stopped (SIGSTOP) in a transaction until its group and its coordinator have expelled it, and
    # continues when another process has done its work.
    def frozen_owner_returns(point, by: nil)
      copiers(by: by).feed(60)
      frozen = @copiers.start("frozen", missed: true, point: point, how: "STOP", after: 8)
      @copiers.await_stopped(frozen)
      other = @copiers.start("other", missed: true)
      @copiers.await
      @copiers.signal("CONT", frozen)
      @copiers.feed(60)
      @copiers.await
      finish(frozen, other)
    end

    # Other processes join and leave while one copies; those that leave stop in order or are killed.
    def others_come_and_go(times, by: "key")
      copiers(by: by).feed(100)
      one = @copiers.start("one", missed: true)
      times.times do |index|
        two = @copiers.start("two", missed: true)
        @copiers.feed(60)
        @copiers.await(@copiers.done + 20)
        index.odd? ? @copiers.signal("KILL", two) && @copiers.await_end(two) : @copiers.stop(two)
      end
      finish(one)
    end

    def finish(*pids)
      @copiers.await
      pids.each { |pid| @copiers.stop(pid) }
      assert_empty @copiers.wrong, @copiers.tail
    end
  end
end
