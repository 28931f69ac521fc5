# frozen_string_literal: true

# The application of the guide's sections: a boot file.

require "json"
require "logger"
require "penstock"
require "stringio"

LOG = StringIO.new

class InlineBatchConsumer < Penstock::BaseConsumer
  def consume
    sum = messages.payloads.sum { |payload| payload["number"] }
    Penstock.logger.info("Sum of #{messages.size} elements equals to: #{sum}")
    producer.produce_async(topic: "messages", payload: {number: messages.first.payload["number"] + 1}.to_json)
  end
end

# Stands for the application's tables.
class Record
  class << self
    def all = @all ||= []
    def count = all.size
    def create!(**values) = all.push(new(all.size + 1, values)).last
  end

  attr_reader :id, :values

  def initialize(id, values)
    @id = id
    @values = values
  end
end

class AnalyticsRecord < Record; end
class Notification < Record; end
class User < Record; end

class VisitsConsumer < Penstock::BaseConsumer
  def consume = each { |message| AnalyticsRecord.create!(visit: message.payload) }
end

class AnalyticsEventsConsumer < Penstock::BaseConsumer
  def consume = each { |message| AnalyticsRecord.create!(type: message.payload["event_type"]) }
end

class NotificationsEventsConsumer < Penstock::BaseConsumer
  def consume = each { |message| Notification.create!(type: message.payload["event_type"]) }
end

class ErrorTracker
  class << self
    def track(error) = tracked << error
    def tracked = @tracked ||= []
  end
end

class ApplicationConsumer < Penstock::BaseConsumer
  def consume
    each { |message| process(message.payload) }
  rescue KeyError => error
    ErrorTracker.track(error)
  end

  def process(payload) = payload.fetch("id")
end

class OrdersConsumer < ApplicationConsumer
end

class SpecApplicationConsumer < ApplicationConsumer
end

class XmlDeserializer
  def self.call(message) = message.raw_payload
end

class XmlConsumer < Penstock::BaseConsumer
  def consume = nil
end

class UsersBuilder
  def create(details)
    user = User.create!(**details)
    Penstock.producer.produce_sync(topic: "users_changes", key: user.id.to_s,
      payload: {user_id: user.id, type: "user.created"}.to_json)
    user
  end

  def create_many(all_details)
    Penstock.producer.transaction do
      all_details.map do |details|
        user = User.create!(**details)
        Penstock.producer.produce_async(topic: "users_changes", key: user.id.to_s,
          payload: {user_id: user.id, type: "user.created"}.to_json)
        raise Penstock::AbortTransaction if details[:name].empty?
        user
      end
    end
  end
end

class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = config.group_id = "guide"
    config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    config.logger = Logger.new(LOG)
    config.producer do |producer|
      producer.kafka = producer.kafka.merge("transactional.id": "guide")
    end
  end

  routes.draw do
    topic(:inline_batch_data) { consumer InlineBatchConsumer }
    topic(:orders) { consumer OrdersConsumer }
    topic(:spec_application_consumer) { consumer SpecApplicationConsumer }
    pattern(:visits, /[a-z]*_visits/) { consumer VisitsConsumer }

    consumer_group :analytics do
      topic(:events) { consumer AnalyticsEventsConsumer }
    end
    consumer_group :notifications do
      topic(:events) { consumer NotificationsEventsConsumer }
    end
    consumer_group :batched_group do
      topic :xml_data do
        consumer XmlConsumer
        deserializers payload: XmlDeserializer
      end
    end
  end
end
