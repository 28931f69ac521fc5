# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/active_job"

class ActiveJobLaterTest < Penstock::TestCase
  def teardown
    Penstock::ActiveJob::Later.scheduler = nil
    Penstock::ActiveJob::Later.enabled = true
    super
  end

  test "the scheduler is the application's, unless another one is set or delays are switched off" do
    later = Penstock::ActiveJob::Later
    own, other = Array.new(2) { Struct.new(:call, :draw).new }
    app = Class.new(Penstock::App)
    app.application.define_singleton_method(:delays) { own }

    assert_same own, later.scheduler
    later.enabled = false
    assert_same Penstock::ActiveJob::Later::None, later.scheduler
    later.enabled = true
    later.scheduler = other
    assert_same other, later.scheduler
  ensure
    Penstock.forget_app(app)
  end

  test "without an application, a job that is due later is refused with what to load; with delays switched off, with those" do
    later = Penstock::ActiveJob::Later
    message = {topic: "mails"}
    error = assert_raises(NotImplementedError) { later.scheduler.call(message, 1) }
    assert_match(/topic mails is due later, and no application is defined.* Load the boot file/, error.message)
    later.enabled = false
    refused = assert_raises(NotImplementedError) { later.scheduler.call(message, 1) }
    assert_match(/remove `active_job_delays false`/, refused.message)
  end

  test "a scheduler without its methods is refused" do
    assert_match(/has no call, no draw/, assert_raises(ArgumentError) {
      Penstock::ActiveJob::Later.scheduler = Object.new
    }.message)
  end
end
