// What of Asio is not a template is compiled here, once.
#include <asio/impl/src.hpp>
#include <asio/ssl/impl/src.hpp>
