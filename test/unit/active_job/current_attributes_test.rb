# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"
require "json"
require "logger"
require "penstock/active_job"
require "active_support/current_attributes"

class ActiveJobCurrentAttributesTest < Penstock::TestCase
  class Current < ActiveSupport::CurrentAttributes
    attribute :tenant, :day
  end

  class Second < ActiveSupport::CurrentAttributes
    attribute :request
  end

  class SeeingJob < ActiveJob::Base
    class << self
      attr_accessor :seen
    end

    def perform(fail: false)
      self.class.seen = [Current.tenant, Current.day, Second.request]
      raise ArgumentError, "no" if fail
    end
  end

  Attributes = Penstock::ActiveJob::CurrentAttributes

  def setup
    super
    @logger, ActiveJob::Base.logger = ActiveJob::Base.logger, Logger.new(nil)
    Penstock::ActiveJob.current_attributes = [Current, "::#{Second.name}"]
  end

  def teardown
    Penstock::ActiveJob.current_attributes = []
    Penstock::ActiveJob.current_attributes_for_karafka = false
    Attributes.reset
    ActiveJob::Base.logger = @logger
    super
  end

  test "attributes are carried by the name of their class, also objects that Active Job serializes" do
    data = Current.set(tenant: "acme", day: Date.new(2026, 1, 2)) { SeeingJob.new.serialize }
    stored = JSON.parse(JSON.generate(data))
    ActiveJob::Base.execute(stored)

    assert_equal [Current.name], stored.fetch("penstock_current").keys
    assert_equal ["acme", Date.new(2026, 1, 2), nil], SeeingJob.seen
    refute SeeingJob.new.serialize.key?("penstock_current")
  end

  test "after the job, and after one that fails, the attributes are what they were" do
    data = Current.set(tenant: "acme") { SeeingJob.new.serialize }
    failing = Current.set(tenant: "acme") { SeeingJob.new(fail: true).serialize }
    Current.tenant = "mine"
    ActiveJob::Base.execute(data)
    assert_raises(ArgumentError) { ActiveJob::Base.execute(failing) }

    assert_equal ["acme", "mine"], [SeeingJob.seen.first, Current.tenant]
  end

  # Its setter sets another attribute, and doesn't expect nil.
  class Deriving < ActiveSupport::CurrentAttributes
    attribute :user, :account, :request

    def user=(user)
      super
      self.account = user.fetch("account")
    end
  end

  class DerivedJob < ActiveJob::Base
    class << self
      attr_accessor :seen
    end

    def perform = self.class.seen = [Deriving.account, Deriving.request, Current.tenant]
  end

  test "a setter that derives another attribute is called with what the job carries, and with nothing else" do
    Penstock::ActiveJob.current_attributes = [Current, Deriving]
    ActiveJob::Base.execute(Deriving.set(request: 7) { DerivedJob.new.serialize })
    assert_equal [nil, 7, nil], DerivedJob.seen
    Deriving.user = {"account" => 3}
    data = DerivedJob.new.serialize
    Attributes.reset
    ActiveJob::Base.execute(data)
    assert_equal [3, nil, nil], DerivedJob.seen
    assert_equal [{}, {}], [Deriving.attributes.compact, Current.attributes.compact]
  end

  # As a class with `attribute :plan, default: "free"`, which Rails has since 7.2.
  class WithDefault < ActiveSupport::CurrentAttributes
    attribute :plan

    def initialize(...)
      super
      attributes[:plan] = "free"
    end
  end

  class PlannedJob < ActiveJob::Base
    class << self
      attr_accessor :seen
    end

    def perform = self.class.seen = [WithDefault.plan, Deriving.user, Deriving.account]
  end

  def seen_by_planned_job(&set)
    Penstock::ActiveJob.current_attributes = [WithDefault, Deriving]
    data = JSON.parse(JSON.generate(PlannedJob.new.tap(&set).serialize))
    Attributes.reset
    ActiveJob::Base.execute(data)
    PlannedJob.seen
  end

  test "an attribute that was set to nil is nil in the job, not its default" do
    assert_equal ["free", nil, nil], seen_by_planned_job { WithDefault.plan = "free" }
    assert_equal [nil, nil, nil], seen_by_planned_job { WithDefault.plan = nil }
  end

  test "attributes have the values that they had, not those that setters of others derive" do
    user = {"account" => 3}
    assert_equal ["free", user, 5], seen_by_planned_job {
      Deriving.account = 4
      Deriving.user = user
      Deriving.account = 5
    }
    assert_equal ["free", user, nil], seen_by_planned_job {
      Deriving.user = user
      Deriving.account = nil
    }
  end

  test "attributes that are all nil again, as without being set, aren't carried" do
    Current.set(tenant: "acme") { SeeingJob.new }
    assert_equal [true, false], [Current.attributes.key?(:tenant), SeeingJob.new.serialize.key?("penstock_current")]
  end

  test "nil for an attribute that is gone, or in a job without nils from an earlier version, is no failure" do
    PlannedJob.seen = nil
    Penstock::ActiveJob.current_attributes = [WithDefault, Deriving]
    plain = PlannedJob.new.serialize
    values = {shoe_size: nil, plan: "paid"}
    ActiveJob::Base.execute(plain.merge("penstock_current" => {WithDefault.name => ActiveJob::Arguments.serialize([values])}))
    assert_equal ["paid", nil, nil], PlannedJob.seen
    refute WithDefault.attributes.key?(:shoe_size)
  end

  test "an attribute that can't be serialized is named, with its class" do
    Current.tenant = 7
    Current.day = Thread.current
    error = assert_raises(ActiveJob::SerializationError) { SeeingJob.new.serialize }
    assert_match(/\A#{Current.name}\.day can't be carried by a job: Unsupported argument type: Thread\. Set it/, error.message)
  end

  test "Rails' test helpers, which read a job's arguments, set no attributes" do
    job = SeeingJob.deserialize(Current.set(tenant: "acme") { SeeingJob.new.serialize })
    job.send(:deserialize_arguments_if_needed)
    assert_nil Current.tenant
  end

  test "a job that is enqueued again keeps the attributes it came with" do
    data = Current.set(tenant: "acme") { SeeingJob.new.serialize }
    job = SeeingJob.deserialize(data)
    again = Current.set(tenant: "other") { job.serialize }

    assert_equal data.fetch("penstock_current"), again.fetch("penstock_current")
  end

  # A record of the database that is deleted meanwhile.
  class Lost
    include GlobalID::Identification

    attr_reader :id

    def initialize(id) = @id = id
    def self.find(_id) = raise(KeyError, "deleted")
  end

  class DiscardingJob < SeeingJob
    discard_on(ActiveJob::DeserializationError) { |_job, error| SeeingJob.seen = [:discarded, error.class] }
  end

  test "a record among the attributes that is gone is handled as one among the arguments" do
    GlobalID.app ||= "penstock-test"
    data = Current.set(tenant: Lost.new(7), day: nil) { DiscardingJob.new.serialize }
    Current.tenant = "mine"
    ActiveJob::Base.execute(data)

    assert_equal [[:discarded, ActiveJob::DeserializationError], "mine"], [SeeingJob.seen, Current.tenant]
  end

  class SettingJob < SeeingJob
    rescue_from(ArgumentError) { |_error| SeeingJob.seen = serialize["penstock_current"] }

    def perform
      Current.tenant = "its own"
      raise ArgumentError, "no"
    end
  end

  test "attributes that a job has set itself aren't those of its next attempt" do
    SeeingJob.seen = :none
    ActiveJob::Base.execute(SettingJob.new.serialize)
    assert_nil SeeingJob.seen
    ActiveJob::Base.execute(Current.set(tenant: "acme") { SettingJob.new.serialize })
    again = SeeingJob.seen.fetch(Current.name)
    assert_equal "acme", ActiveJob::Arguments.deserialize(again).first.symbolize_keys[:tenant]
  end

  test "perform_now sees the attributes of the caller, and changes none" do
    Current.tenant = "mine"
    SeeingJob.perform_now

    assert_equal ["mine", "mine"], [SeeingJob.seen.first, Current.tenant]
  end

  test "[cattr_0] what Karafka's adapter has stored is set by the order of the classes" do
    plain = SeeingJob.new.serialize
    ActiveJob::Base.execute(plain.merge("cattr_0" => {"tenant" => "acme"}, "cattr_1" => {"request" => "r1"}))
    assert_equal ["acme", nil, "r1"], SeeingJob.seen
    Penstock::ActiveJob.current_attributes = []
    ActiveJob::Base.execute(plain.merge("cattr_0" => {"tenant" => "acme"}))
    assert_equal [nil, nil, nil], SeeingJob.seen
  end

  test "[cattr_0] for Karafka's processes plain values are stored in its keys as well, but only if that is set" do
    set = {tenant: "acme", day: Date.new(2026, 1, 2)}
    refute Current.set(**set) { SeeingJob.new.serialize }.key?("cattr_0")
    Penstock::ActiveJob.current_attributes_for_karafka = true
    data = Current.set(**set) { Second.set(request: 5) { SeeingJob.new.serialize } }

    assert_equal [{"tenant" => "acme"}, {"request" => 5}], data.values_at("cattr_0", "cattr_1")
    assert_equal({"request" => false}, Second.set(request: false) { SeeingJob.new.serialize }.fetch("cattr_1"))
    refute SeeingJob.new.serialize.key?("cattr_0")
  end

  test "[cattr_0] a job from Karafka that is enqueued again keeps its attributes, for Karafka's processes in its keys" do
    Penstock::ActiveJob.current_attributes_for_karafka = true
    job = SeeingJob.deserialize(SeeingJob.new.serialize.merge("cattr_0" => {"tenant" => "acme", "day" => nil}))
    again = Current.set(tenant: "other") { job.serialize }

    assert_equal [{"tenant" => "acme", "day" => nil}, {Current.name => {"tenant" => "acme", "day" => nil}}],
      again.values_at("cattr_0", "penstock_current")
  end

  test "whether attributes are stored for Karafka's processes is true or false" do
    error = assert_raises(Penstock::ConfigurationError) { Penstock::ActiveJob.current_attributes_for_karafka = "yes" }
    assert_match(/current_attributes_for_karafka: must be true or false, is "yes"/, error.message)
  end

  test "a class that isn't listed, or an attribute that is gone, fails the job with what to do" do
    data = SeeingJob.new.serialize
    unlisted = assert_raises(Penstock::ConfigurationError) do
      ActiveJob::Base.execute(data.merge("penstock_current" => {"Kernel" => [{}]}))
    end
    gone = assert_raises(Penstock::ConfigurationError) { ActiveJob::Base.execute(data.merge("cattr_0" => {"shoe_size" => 43})) }

    assert_match(/attributes of "Kernel", which isn't listed here/, unlisted.message)
    assert_match(/values for shoe_size, which #{Current.name} doesn't have/, gone.message)
  end

  test "a name that isn't that of a class of current attributes fails enqueueing and performing, and the setting is named" do
    data = Current.set(tenant: "acme") { SeeingJob.new.serialize }
    {"Nope::Current" => /current_attributes: Nope::Current can't be loaded \(uninitialized constant Nope\)\. List/,
     "String" => /current_attributes: String isn't a class of ActiveSupport::CurrentAttributes/,
     "Kernel" => /current_attributes: Kernel isn't a class/}.each do |name, message|
      Penstock::ActiveJob.current_attributes = [Current.name, name]
      assert_match message, assert_raises(Penstock::ConfigurationError) { SeeingJob.new.serialize }.message
      assert_match message, assert_raises(Penstock::ConfigurationError) { ActiveJob::Base.execute(data) }.message
    end
  end

  test "an error of the code in the class's file is raised as it is" do
    dir = Dir.mktmpdir
    path = File.join(dir, "broken_current.rb")
    File.write(path, "class PenstockBrokenCurrent < MissingBase; end")
    Object.autoload(:PenstockBrokenCurrent, path)
    Penstock::ActiveJob.current_attributes = ["PenstockBrokenCurrent"]

    assert_equal :MissingBase, assert_raises(NameError) { SeeingJob.new.serialize }.name
  ensure
    Object.__send__(:remove_const, :PenstockBrokenCurrent)
    FileUtils.rm_r(dir)
  end

  test "names are checked; Karafka's persist adds classes" do
    assert_match(/5 is not the name of a class/, assert_raises(Penstock::ConfigurationError) {
      Penstock::ActiveJob.current_attributes = ["Current", 5]
    }.message)
    Penstock::ActiveJob.current_attributes = Current
    Attributes.persist(Second.name, Current)

    assert_equal [Current.name, Second.name], Penstock::ActiveJob.current_attributes
  end
end
