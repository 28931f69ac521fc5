# frozen_string_literal: true

class CreateShop < ActiveRecord::Migration[7.1]
  def change
    create_table :orders do |t|
      t.string :customer, null: false
      t.integer :total, null: false # cents
      t.timestamps
    end
    create_table :payments do |t|
      t.references :order, null: false, index: {unique: true}, foreign_key: true
      t.integer :amount, null: false
      t.timestamps
    end
    create_table :receipts do |t|
      t.references :order, null: false, index: {unique: true}, foreign_key: true
      t.timestamps
    end
    create_what_happened
  end

  private

  def create_what_happened
    create_table :events do |t|
      t.bigint :order_id, null: false
      t.string :topic, :key, :outcome, null: false
      t.integer :partition, :process, null: false
      t.bigint :offset, null: false
      t.timestamps
    end
    create_table :job_runs do |t|
      t.bigint :order_id, null: false
      t.string :job_id, :outcome, null: false
      t.integer :process, null: false
      t.timestamps
    end
    create_table :sent_mails do |t|
      t.string :message_id, :recipient, :subject, null: false
      t.text :body, null: false
      t.timestamps
    end
  end
end
