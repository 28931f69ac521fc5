# This file is auto-generated from the current state of the database. Instead
# of editing this file, please use the migrations feature of Active Record to
# incrementally modify your database, and then regenerate this schema definition.
#
# This file is the source Rails uses to define your schema when running `bin/rails
# db:schema:load`. When creating a new database, `bin/rails db:schema:load` tends to
# be faster and is potentially less error prone than running all of your
# migrations from scratch. Old migrations may fail to apply correctly if those
# migrations use external dependencies or application code.
#
# It's strongly recommended that you check this file into your version control system.

ActiveRecord::Schema[7.1].define(version: 2026_01_01_000002) do
  create_table "events", force: :cascade do |t|
    t.bigint "order_id", null: false
    t.string "topic", null: false
    t.string "key", null: false
    t.string "outcome", null: false
    t.integer "partition", null: false
    t.integer "process", null: false
    t.bigint "offset", null: false
    t.datetime "created_at", null: false
    t.datetime "updated_at", null: false
  end

  create_table "job_runs", force: :cascade do |t|
    t.bigint "order_id", null: false
    t.string "job_id", null: false
    t.string "outcome", null: false
    t.integer "process", null: false
    t.datetime "created_at", null: false
    t.datetime "updated_at", null: false
  end

  create_table "orders", force: :cascade do |t|
    t.string "customer", null: false
    t.integer "total", null: false
    t.datetime "created_at", null: false
    t.datetime "updated_at", null: false
  end

  create_table "payments", force: :cascade do |t|
    t.integer "order_id", null: false
    t.integer "amount", null: false
    t.datetime "created_at", null: false
    t.datetime "updated_at", null: false
    t.index ["order_id"], name: "index_payments_on_order_id", unique: true
  end

  create_table "penstock_outbox", force: :cascade do |t|
    t.string "topic", null: false
    t.binary "message_key"
    t.binary "payload"
    t.text "headers"
    t.integer "partition"
    t.binary "partition_key"
    t.bigint "timestamp_ms"
    t.bigint "strand"
    t.string "state", default: "ready", null: false
    t.integer "attempts", default: 0, null: false
    t.bigint "due_ms"
    t.bigint "blocker_id"
    t.text "last_error"
    t.bigint "created_ms", null: false
    t.bigint "sent_ms"
    t.index ["blocker_id"], name: "penstock_outbox_held", where: "state = 'held'"
    t.index ["due_ms"], name: "penstock_outbox_due", where: "state = 'parked'"
    t.index ["id"], name: "penstock_outbox_aside", where: "state = 'aside'"
    t.index ["id"], name: "penstock_outbox_ready", where: "state = 'ready'"
    t.index ["strand"], name: "penstock_outbox_parked", where: "state = 'parked'"
  end

  create_table "receipts", force: :cascade do |t|
    t.integer "order_id", null: false
    t.datetime "created_at", null: false
    t.datetime "updated_at", null: false
    t.index ["order_id"], name: "index_receipts_on_order_id", unique: true
  end

  create_table "sent_mails", force: :cascade do |t|
    t.string "message_id", null: false
    t.string "recipient", null: false
    t.string "subject", null: false
    t.text "body", null: false
    t.datetime "created_at", null: false
    t.datetime "updated_at", null: false
  end

  add_foreign_key "payments", "orders"
  add_foreign_key "receipts", "orders"
end
