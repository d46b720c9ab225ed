# Writes SOURCE with its fix applied to FIXED. A program without a fix stays as it is: the test complains about it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/read_program.cmake)

read_program(${SOURCE})
file(WRITE ${FIXED} "${fixed}")
