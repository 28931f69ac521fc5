# frozen_string_literal: true

# Messages on their way to Kafka: written by Penstock::Outbox.enqueue, sent by `penstock outbox`. Rows are read by id,
# so the id must be a number that is never used twice.
class CreatePenstockOutbox < ActiveRecord::Migration[7.1]
  def change
    create_table :"penstock_outbox" do |t|
      t.string :topic, null: false
      t.binary :message_key
      t.binary :payload
      t.text :headers
      t.integer :partition
      t.binary :partition_key
      t.bigint :timestamp_ms
      t.bigint :strand # the same for all rows of one topic and key
      t.string :state, null: false, default: "ready" # parked, held, aside, sent
      t.integer :attempts, null: false, default: 0
      t.bigint :due_ms
      t.bigint :blocker_id
      t.text :last_error
      t.bigint :created_ms, null: false
      t.bigint :sent_ms
    end
    add_index :"penstock_outbox", :id, where: "state = 'ready'", name: "penstock_outbox_ready"
    add_index :"penstock_outbox", :strand, where: "state = 'parked'", name: "penstock_outbox_parked"
    add_index :"penstock_outbox", :due_ms, where: "state = 'parked'", name: "penstock_outbox_due"
    add_index :"penstock_outbox", :blocker_id, where: "state = 'held'", name: "penstock_outbox_held"
    add_index :"penstock_outbox", :id, where: "state = 'aside'", name: "penstock_outbox_aside"
  end
end
