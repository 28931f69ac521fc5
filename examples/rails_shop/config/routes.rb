# frozen_string_literal: true

Rails.application.routes.draw do
  root "histories#show"
  resource :history, only: :show
  resources :orders, only: :create
  get "up" => "rails/health#show"
end
