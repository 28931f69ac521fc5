# frozen_string_literal: true

class HistoriesController < ApplicationController
  def show
    @history = History.new
    respond_to do |format|
      format.html
      format.json { render json: @history }
    end
  end
end
